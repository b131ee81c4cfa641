import {OutboundFailure} from '../outbound/failure.ts'
import {fits, hostOf, readHost} from '../outbound/hosts.ts'
import type {Outbound} from '../outbound/outbound.ts'
import {asSourceFailure, tooLarge} from './failure.ts'
import {fetchHttps} from './https.ts'
import {fetchQuery} from './query.ts'
import {fetchS3} from './s3.ts'
import {fetchSftp} from './sftp.ts'
import type {FileSource} from './source.ts'

/**
 * A file in transfer. Read the stream to its end or close it (`return`), because its connection stays open until then. The stream throws the same
 * errors as `fetchSource`. `charset`: the encoding that the server names for the file.
 */
export type FetchResult = {name: string; contentType?: string | undefined; charset?: string | undefined; stream: AsyncIterable<Uint8Array>}
/** `mostRows`: the maximum number of rows of a query. */
export type Bounds = {limitBytes: number; mostRows?: number; timeoutSeconds: number; signal?: AbortSignal | undefined}

/** The time-out from the name lookup to the last byte, enough for a gigabyte at 5 Mbit/s. */
const usualSeconds = 30 * 60

/**
 * Streams a file from a source without holding the file in memory. If fewer bytes arrive than the server announced, the fetch fails. Throws
 * SourceFailure, or the reason of the caller's signal.
 */
export const fetchSource = async (
  outbound: Outbound,
  source: FileSource,
  {org, timeoutSeconds = usualSeconds, ...bounds}: Omit<Bounds, 'timeoutSeconds'> & {org?: string; timeoutSeconds?: number},
): Promise<FetchResult> => {
  try {
    const fetched = await fetchKind(allowed(outbound, org), source, {...bounds, timeoutSeconds})
    return {...fetched, stream: withLog(fetched.stream, bounds)}
  } catch (error) {
    throw logged(error, bounds)
  }
}

/** If a file is too large, the message names the file instead of the server's answer. */
const logged = (error: unknown, {limitBytes}: Pick<Bounds, 'limitBytes'>) =>
  error instanceof OutboundFailure && error.code === 'TOO_LARGE' ? tooLarge(limitBytes, error) : asSourceFailure(error)

const fetchKind = (outbound: Outbound, source: FileSource, bounds: Bounds): Promise<FetchResult> => {
  if (source.kind === 'https') return fetchHttps(outbound, source, bounds)
  if (source.kind === 's3') return fetchS3(outbound, source, bounds)
  return source.kind === 'sftp' ? fetchSftp(outbound, source, bounds) : fetchQuery(outbound, source, bounds)
}

/** Limits the outbound access to one org, and to the hosts from which the operator allows fetching. */
const allowed = (outbound: Outbound, org: string | undefined): Outbound => {
  const assertAllowed = (host: string) => {
    if (!fits(host, outbound.sourceHosts))
      throw new OutboundFailure('HOST_REFUSED', `Files cannot be fetched from ${host}. Ask the operator to add it to SOURCE_HOSTS`)
  }
  return {
    ...outbound,
    async request(url, asked) {
      assertAllowed(hostOf(new URL(url)))
      return outbound.request(url, {...asked, ...(org !== undefined && {org})})
    },
    async connect(place) {
      assertAllowed(readHost(place.host) ?? place.host)
      return outbound.connect({...place, org})
    },
  }
}

async function* withLog(stream: AsyncIterable<Uint8Array>, bounds: Pick<Bounds, 'limitBytes'>) {
  try {
    yield* stream
  } catch (error) {
    throw logged(error, bounds)
  }
}
