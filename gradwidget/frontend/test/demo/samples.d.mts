type Make = (options: object) => unknown;
export const SAMPLES: Record<
  "extremes" | "abc" | "story" | "kinds" | "mlp" | "nan" | "hostile" | "big300" | "big3000" | "big6000",
  Make
>;
