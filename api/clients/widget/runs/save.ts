type Picker = (options: {
  suggestedName: string
}) => Promise<{createWritable(): Promise<WritableStream<Uint8Array> & {abort(reason?: unknown): Promise<void>}>}>
type Told = (sent: number, total: number | null) => void

/** Safari and Firefox have no picker: there the file is held by the browser until it is whole. */
const picker = () => (globalThis as {showSaveFilePicker?: Picker}).showSaveFilePicker

/**
 * Writes an answer to a file of the person's choice, and tells how far it is; answers its bytes, null where the person chose none. The
 * file is chosen first, in the click: a browser lets nobody ask later.
 */
export const saveStream = async (name: string, open: () => Promise<Response>, tell: Told): Promise<number | null> => {
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

const saveWhole = async (name: string, response: Response, tell: Told) => {
  const counted = countBytes(response, tell)
  const blob = await new Response(response.body!.pipeThrough(counted.through), {headers: {'content-type': 'text/csv'}}).blob()
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
  return blob.size
}

const countBytes = (response: Response, tell: Told) => {
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
