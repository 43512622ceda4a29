// The editor of molecules (OpenChemLib), a bundle of its own that is loaded when it is opened.
import { CanvasEditor, Molecule } from "openchemlib";

/** An editor in `place` that begins with a SMILES text; `changed` is told each other one. */
export function open(place, smiles, changed) {
  const editor = new CanvasEditor(place, { initialMode: "molecule" });
  let shown = "";
  const show = (text) => {
    try {
      editor.setMolecule(Molecule.fromSmiles(text.trim()));
      shown = text.trim();
    } catch {
      shown = ""; // what is typed so far is no molecule: the editor keeps what it shows
    }
  };
  if (smiles.trim()) show(smiles);
  editor.setOnChangeListener((event) => {
    if (event.type !== "molecule" || !event.isUserEvent) return;
    const found = editor.getMolecule().toIsomericSmiles();
    if (found !== shown) changed(shown = found);
  });
  return { show, close: () => editor.destroy() };
}
