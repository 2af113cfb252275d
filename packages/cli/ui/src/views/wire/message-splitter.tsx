import { Splitter } from '../splitter.tsx'

/** Resizes the message or exchange below the wire. */
export function MessageSplitter() {
  return <Splitter name="message" label="Size of the message" part="after" axis="y" />
}
