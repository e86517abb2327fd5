import { Component, type ComponentChildren } from "preact";

interface Props {
  children: ComponentChildren;
}

/** A picture that can't be drawn says so, instead of leaving a blank box. */
export class Boundary extends Component<Props, { error: string }> {
  override state = { error: "" };

  static override getDerivedStateFromError(error: unknown): { error: string } {
    return { error: error instanceof Error ? error.message : String(error) };
  }

  override render() {
    if (!this.state.error) return this.props.children;
    return (
      <div class="gw-failure" role="alert">
        <strong>The figure can't be drawn.</strong>
        <p>{this.state.error}</p>
        <p>Run the cell again. If it happens again, please report it with the code that makes the graph.</p>
      </div>
    );
  }
}
