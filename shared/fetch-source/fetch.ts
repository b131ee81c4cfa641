import {OutboundFailure} from '../outbound/failure.ts'
import {fits, hostOf, readHost} from '../outbound/hosts.ts'
import type {Outbound} from '../outbound/outbound.ts'
import {asSourceFailure, tooLarge} from './failure.ts'
import {fetchHttps} from './https.ts'
import {fetchS3} from './s3.ts'
import {fetchSftp} from './sftp.ts'
import type {FileSource} from './source.ts'

/**
 * The stream is read to its end or left (`return`): until then it holds a connection. It throws what `fetchSource` does. `charset`: the
 * encoding the other side names for the file.
 */
export type Fetched = {name: string; contentType?: string | undefined; charset?: string | undefined; stream: AsyncIterable<Uint8Array>}
export type Bounds = {limitBytes: number; timeoutSeconds: number; signal?: AbortSignal | undefined}

/** From the name to the last byte: a gigabyte at 5 Mbit/s. */
const usualSeconds = 30 * 60

/**
 * A file from where a source says, as it comes and never whole in memory; fewer bytes than the other side announced are a failure and no
 * short file. Throws SourceFailure, or the reason of the caller's own signal.
 */
export const fetchSource = async (
  outbound: Outbound,
  source: FileSource,
  {org, timeoutSeconds = usualSeconds, ...bounds}: Omit<Bounds, 'timeoutSeconds'> & {org?: string; timeoutSeconds?: number},
): Promise<Fetched> => {
  try {
    const fetched = await fetchKind(allowed(outbound, org), source, {...bounds, timeoutSeconds})
    return {...fetched, stream: telling(fetched.stream, bounds)}
  } catch (error) {
    throw told(error, bounds)
  }
}

/** A file's own limit in its own words: what a call out says of one is for those who make it. */
const told = (error: unknown, {limitBytes}: Pick<Bounds, 'limitBytes'>) =>
  error instanceof OutboundFailure && error.code === 'TOO_LARGE' ? tooLarge(limitBytes, error) : asSourceFailure(error)

const fetchKind = (outbound: Outbound, source: FileSource, bounds: Bounds): Promise<Fetched> => {
  if (source.kind === 'https') return fetchHttps(outbound, source, bounds)
  return source.kind === 's3' ? fetchS3(outbound, source, bounds) : fetchSftp(outbound, source, bounds)
}

/** The same door for one org, and for the hosts that the operator lets files be fetched from. */
const allowed = (outbound: Outbound, org: string | undefined): Outbound => {
  const assertAllowed = (host: string) => {
    if (!fits(host, outbound.sourceHosts))
      throw new OutboundFailure(
        'HOST_REFUSED',
        `The operator does not let files be fetched from ${host}: SOURCE_HOSTS lists what is allowed`,
      )
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

async function* telling(stream: AsyncIterable<Uint8Array>, bounds: Pick<Bounds, 'limitBytes'>) {
  try {
    yield* stream
  } catch (error) {
    throw told(error, bounds)
  }
}
