declare module "*.css" {
  const text: string;
  export default text;
}

/** A module as one function that stands alone: its text can be sent to a worker. */
declare module "closed:./engine.ts" {
  const make: () => typeof import("./place/engine").place;
  export default make;
}
