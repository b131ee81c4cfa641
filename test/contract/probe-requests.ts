import type {Exchange} from '../simulators/crm/exchanges.ts'
import type {Difference} from './checker.ts'

/**
 * A request that the doctor sends so that the CRM refuses it. Its difference is of `operation` and begins with `breaks`. `isSent`
 * recognises only this request, so that the same difference of another request still counts.
 */
export type ProbeRequest = {probe: string; operation: string; breaks: string; reason: string; isSent(exchange: Exchange): boolean}

export const probeRequests: ProbeRequest[] = [
  {
    probe: 'search.oneCharacter',
    operation: 'GET /crm/v8/{module}/search',
    breaks: 'query word minLength',
    reason: 'The probe checks that a word of one character is refused.',
    isSent: ({query}) => query.length === 1 && query[0]?.join('=') === 'word=x',
  },
  {
    probe: 'ids.more',
    operation: 'GET /crm/v8/{module}',
    breaks: 'query ids maxLength',
    reason: 'The probe checks that 101 ids are refused. All but the first belong to no record.',
    isSent({query}) {
      const [, ...invented] = new Map(query).get('ids')?.split(',') ?? []
      return invented.length === 100 && invented.every((id, at) => id.endsWith(String(999_999_999 - at)))
    },
  },
]

/** Returns the probe request that explains the difference, or undefined. */
export const findProbe = (probes: ProbeRequest[], {operation, side, place, message}: Difference, exchange: Exchange) =>
  probes.find(
    probe =>
      side === 'request' && probe.operation === operation && `${place} ${message}`.startsWith(probe.breaks) && probe.isSent(exchange),
  )
