import { base64Size } from '../text/format.ts'
import type { FieldProps } from './field-props.ts'

/** A file as base64 text. */
export function FileField({ schema, value, onChange, isRequired, id, label }: FieldProps) {
  const text = typeof value === 'string' ? value : ''
  const read = async (file: File | undefined) => {
    if (file) onChange(await toBase64(file))
  }
  const accept = typeof schema.contentMediaType === 'string' ? schema.contentMediaType : undefined
  return (
    <span class="row">
      <input
        type="file"
        accept={accept}
        aria-label={`File for ${label}`}
        onChange={(event) => void read(event.currentTarget.files?.[0])}
      />
      <input
        id={id}
        type="text"
        required={isRequired}
        placeholder="base64"
        spellcheck={false}
        value={text.length > 2_000 ? `${text.slice(0, 2_000)}…` : text}
        readOnly={text.length > 2_000}
        onInput={(event) => onChange(event.currentTarget.value || (isRequired ? '' : undefined))}
      />
      <span class="dim">{base64Size(text)}</span>
    </span>
  )
}

async function toBase64(file: File): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer())
  let binary = ''
  for (let at = 0; at < bytes.length; at += 0x8000) binary += String.fromCharCode(...bytes.subarray(at, at + 0x8000))
  return btoa(binary)
}
