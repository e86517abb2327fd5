import { Component, type FunctionComponent } from "preact";

/** Draws anew only when one of its props is another one. */
export function memo<P extends object>(Inner: FunctionComponent<P>) {
  return class extends Component<P> {
    override shouldComponentUpdate(next: P): boolean {
      const names = Object.keys({ ...this.props, ...next }) as (keyof P)[];
      return names.some((name) => next[name] !== this.props[name]);
    }

    override render() {
      return Inner(this.props, undefined);
    }
  };
}
