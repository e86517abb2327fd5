import type { SvgFile } from "./svg_file";

const SHARP = 2;
/** Browsers refuse larger canvases. */
const MOST = 8_192;

/** The picture as pixels, two for each unit, fewer where the picture is huge. */
export async function pngFile(svg: SvgFile): Promise<Blob> {
  const scale = Math.min(SHARP, MOST / svg.width, MOST / svg.height);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg.text)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.ceil(svg.width * scale);
  canvas.height = Math.ceil(svg.height * scale);
  const paper = canvas.getContext("2d");
  if (!paper) throw new Error("This browser draws no pictures.");
  paper.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) =>
    canvas.toBlob(
      (blob) => (blob ? resolve(blob) : reject(new Error("The picture is too large."))),
      "image/png",
    ),
  );
}
