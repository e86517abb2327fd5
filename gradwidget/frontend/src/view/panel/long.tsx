/** Texts of the user's own may be of any length: cut to fit, whole on hover. */
interface Props {
  text: string;
  class?: string;
}

/** On one line. */
export function Name({ text, class: name = "" }: Props) {
  return (
    <code class={`gw-clip ${name}`} dir="auto" title={text}>
      {text}
    </code>
  );
}

/** On two lines at most. */
export function Words({ text, class: name = "" }: Props) {
  return (
    <span class={`gw-two-lines ${name}`} dir="auto" title={text}>
      {text}
    </span>
  );
}
