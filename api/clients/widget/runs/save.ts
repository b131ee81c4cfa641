type Picker = (options: {
  suggestedName: string
}) => Promise<{createWritable(): Promise<WritableStream<Uint8Array> & {abort(reason?: unknown): Promise<void>}>}>
type SaveCallbacks = (sent: number, total: number | null) => void

/** Returns the browser's file picker. Undefined in Safari and Firefox, where the whole file is kept in memory. */
const picker = () => (globalThis as {showSaveFilePicker?: Picker}).showSaveFilePicker

/**
 * Saves a response to a file that the person chooses, or as a download if the browser has no file picker. `tell` gets the bytes so far and the
 * total, which is null if unknown. Returns the size in bytes, or null if the person cancelled. Call it within the click event, because browsers
 * open the picker only there.
 */
export const saveStream = async (name: string, open: () => Promise<Response>, tell: SaveCallbacks): Promise<number | null> => {
  const choose = picker()
  if (!choose) return saveWhole(name, await open(), tell)
  const chosen = await choose({suggestedName: name}).catch((error: unknown) => {
    if (error instanceof DOMException && error.name === 'AbortError') return null
    throw error
  })
  if (chosen === null) return null
  const response = await open()
  const counted = countBytes(response, tell)
  await response.body!.pipeThrough(counted.through).pipeTo(await chosen.createWritable())
  return counted.sent()
}

const saveWhole = async (name: string, response: Response, tell: SaveCallbacks) => {
  const counted = countBytes(response, tell)
  const blob = await new Response(response.body!.pipeThrough(counted.through), {
    headers: {'content-type': response.headers.get('content-type') ?? ''},
  }).blob()
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
  return blob.size
}

const countBytes = (response: Response, tell: SaveCallbacks) => {
  const length = response.headers.get('content-length')
  const total = length === null || response.headers.get('content-encoding') ? null : Number(length)
  let sent = 0
  const through = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      sent += chunk.byteLength
      tell(sent, total)
      controller.enqueue(chunk)
    },
  })
  return {through, sent: () => sent}
}
