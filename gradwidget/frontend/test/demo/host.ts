import { Trouble } from "../../src/host";
import { PageHost } from "../../src/hosts/page";
import type { Detail } from "../../src/wire";
import { unpacked } from "./story.mjs";

/** A page with a kernel behind it: one that answers in a moment, or in words. */
export class DemoHost extends PageHost {
  override silence = "";
  /** What was asked for. */
  readonly calls: string[] = [];
  refusal: Trouble | null = null;

  override async unpack(key: number, name: string): Promise<Detail> {
    await this.answer(`unpack ${key} ${name}`);
    const detail = this.cached(key);
    if (!detail) throw new Trouble("This node is gone.", "Run the cell again.");
    return unpacked(detail);
  }

  override async probe(): Promise<void> {
    await this.answer("probe");
  }

  private async answer(call: string): Promise<void> {
    this.calls.push(call);
    await new Promise((resolve) => setTimeout(resolve, 120));
    if (this.refusal) throw this.refusal;
  }
}
