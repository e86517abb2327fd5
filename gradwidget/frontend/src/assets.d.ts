declare module "*.css" {
  const text: string;
  export default text;
}

declare module "inline:*" {
  const source: string;
  export default source;
}
