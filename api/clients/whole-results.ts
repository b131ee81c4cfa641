import {ApiError, type Client, type Sent} from './http.ts'

/** Opens results.csv. If it is larger than what the service makes at once, its parts are fetched one after another and joined. */
export const openResults = async (client: Client, path: string, sent: Sent): Promise<Response> => {
  try {
    return await client.open('GET', path, sent)
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'RESULTS_TOO_LARGE') throw error
  }
  const openPart = (more: object) => client.open('GET', path, {...sent, query: {...sent.query, ...more}})
  const chunks = joinParts(await openPart({from: 1}), from => openPart({from, header: 0, bom: null}))
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const {done, value} = await chunks.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    async cancel() {
      await chunks.return()
    },
  })
  return new Response(body, {headers: {'content-type': 'text/csv; charset=utf-8'}})
}

async function* joinParts(first: Response, open: (from: number) => Promise<Response>): AsyncGenerator<Uint8Array, void, undefined> {
  for (let part = first; ; ) {
    const reader = part.body!.getReader()
    try {
      for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value
    } finally {
      await reader.cancel()
    }
    const next = nextOf(part)
    if (next === null) return
    part = await open(next)
  }
}

/** The row that the next part begins at. */
const nextOf = ({headers}: Response): number | null => {
  const [, address] = /^<([^<>]*)>; rel="next"/.exec(headers.get('link') ?? '') ?? []
  return address === undefined ? null : Number(new URL(address, 'http://localhost').searchParams.get('from'))
}
