import type { Detail, Saved } from "../../wire";
import { Name, Words } from "./long";
import { Chip, Note, Row, Section } from "./parts";
import { TensorBody, TensorFigures } from "./tensor";
import { type Unpack, UnpackButton } from "./unpack";

/** States that change what the reader may conclude get a chip. */
const STATE_CHIPS: Partial<Record<Saved["state"], string>> = {
  freed: "freed",
  modified: "modified",
  packed: "packed",
  unknown: "unknown",
};

/** A text longer than this has lines of its own. */
const LONG = 24;

interface Props {
  detail: Detail;
  onUnpack: Unpack | null;
}

export function SavedVariables({ detail, onUnpack }: Props) {
  if (detail.saved.length === 0 && !detail.saved_note) return null;
  const notes = new Set(detail.saved.map((saved) => saved.note));
  const asks = onUnpack !== null && detail.saved.some((saved) => saved.unpack);
  const shared = !asks && detail.saved.length > 1 && notes.size === 1 ? (detail.saved[0]?.note ?? "") : "";
  return (
    <Section title="saved for backward">
      {detail.saved.map((saved) => (
        <SavedRow key={saved.name} saved={saved} note={shared ? "" : saved.note} onUnpack={onUnpack} />
      ))}
      <Note>{shared || detail.saved_note}</Note>
    </Section>
  );
}

interface RowProps {
  saved: Saved;
  note: string;
  onUnpack: Unpack | null;
}

function SavedRow({ saved, note, onUnpack }: RowProps) {
  const packed = saved.unpack && onUnpack;
  const chip = STATE_CHIPS[saved.state];
  return (
    <div data-gw-saved={saved.name}>
      <Row
        stacked={saved.text.length > LONG}
        label={
          <>
            <Name text={saved.name} /> {saved.same_as && <Chip text={`= ${saved.same_as}`} />}{" "}
            {chip && <Chip text={chip} tone={saved.state === "modified" ? "warn" : ""} />}
          </>
        }
      >
        {saved.tensor ? (
          <TensorFigures view={saved.tensor} tone="" />
        ) : (
          <Words class="gw-num" text={saved.text || (saved.state === "none" ? "None" : "")} />
        )}
      </Row>
      {saved.tensor && <TensorBody view={saved.tensor} />}
      {packed ? <UnpackButton saved={saved} onUnpack={onUnpack} /> : <Note>{note}</Note>}
    </div>
  );
}
