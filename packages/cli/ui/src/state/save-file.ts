/** Offers text as a download. */
export function saveFile(name: string, text: string, type = 'application/json'): void {
  const url = URL.createObjectURL(new Blob([text], { type }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  // The download has its own reference once it started.
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
