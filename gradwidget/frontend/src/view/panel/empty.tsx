interface Props {
  hasPasses: boolean;
  /** The next backward pass will be seen. */
  watching: boolean;
  /** There are groups. */
  folds: boolean;
}

export function Empty({ hasPasses, watching, folds }: Props) {
  return (
    <div class="gw-panel-body gw-empty">
      <h3>Nothing selected</h3>
      <p>
        Click a node to see its value, its gradient, what it saved for the backward pass and what its hooks
        saw.
      </p>
      {!hasPasses &&
        (watching ? (
          <p>
            Gradients appear here and on the wires once you call <code>backward()</code>.
          </p>
        ) : (
          <p>There are no gradients: no backward pass was seen.</p>
        ))}
      <dl class="gw-keys">
        <dt>
          <kbd>drag</kbd>
        </dt>
        <dd>move the picture</dd>
        <dt>
          <kbd>Ctrl</kbd> <kbd>wheel</kbd>
        </dt>
        <dd>zoom; the wheel alone does once the picture was clicked</dd>
        <dt>
          <kbd>Tab</kbd> <kbd>←</kbd> <kbd>→</kbd>
        </dt>
        <dd>walk along the wires</dd>
        <dt>
          <kbd>Enter</kbd> <kbd>Esc</kbd>
        </dt>
        <dd>select, clear</dd>
        {folds && (
          <>
            <dt>
              <kbd>Enter</kbd> <kbd>⌫</kbd>
            </dt>
            <dd>unfold a group, fold the one around; or double click it</dd>
          </>
        )}
        <dt>
          <kbd>/</kbd>
        </dt>
        <dd>search</dd>
        {hasPasses && (
          <>
            <dt>
              <kbd>[</kbd> <kbd>]</kbd>
            </dt>
            <dd>step through the backward pass</dd>
          </>
        )}
      </dl>
    </div>
  );
}
