import {ApiError, type Client, type RequestOptions} from './http.ts'

/** Opens results.csv. If the file is too large for one response, downloads the parts and joins them. */
export const openResults = async (client: Client, path: string, options: RequestOptions): Promise<Response> => {
  try {
    return await client.open('GET', path, options)
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'RESULTS_TOO_LARGE') throw error
  }
  const openPart = (more: object) => client.open('GET', path, {...options, query: {...options.query, ...more}})
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

/** Returns the number of the first row of the next part, or null after the last part. */
const nextOf = ({headers}: Response): number | null => {
  const [, address] = /^<([^<>]*)>; rel="next"/.exec(headers.get('link') ?? '') ?? []
  return address === undefined ? null : Number(new URL(address, 'http://localhost').searchParams.get('from'))
}
