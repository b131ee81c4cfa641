import {isDeepStrictEqual} from 'node:util'
import {z} from 'zod'
import {Refusal} from '../errors.ts'

/**
 * What the runs of a chain have in common: a module's or a flow's number is its place here, from 1, and a flow's row numbers count the
 * rows of one file under one reader. Records and open questions are kept across the chain by these numbers, so nothing ever leaves.
 */
export const Lineage = z.object({
  modules: z.array(z.string()),
  flows: z.array(z.object({id: z.string(), sha256: z.string(), reader: z.unknown()})),
  /** What expressions are told is now, in milliseconds since 1970, and what their random numbers come from: a row gives the same again. */
  clock: z.number().default(0),
  seed: z.string().default(''),
})
export type Lineage = z.infer<typeof Lineage>

/** A chain numbers no more modules and flows than this, whatever its runs name. */
const mostNames = 1_000

type Names = Pick<Lineage, 'modules' | 'flows'>
type Written = {id: string; module: string; sourceId: string}
type Read = {id: string; label: string; sha256: string; reader: unknown}

/** Of a chain's next run, or of its first one. Refuses a flow whose file or reader is another now: its rows are other rows. */
export const extendLineage = (before: Names | null, {flows, sources}: {flows: Written[]; sources: Read[]}): Names => {
  const pinned = new Map(before?.flows.map(flow => [flow.id, flow]))
  const named = flows.map(({id, sourceId}) => {
    const {sha256, reader, label} = sources.find(source => source.id === sourceId)!
    const pin = pinned.get(id)
    if (pin && (pin.sha256 !== sha256 || !isDeepStrictEqual(pin.reader, reader)))
      throw new Refusal(
        'SNAPSHOT_CHANGED',
        `Flow ${id} read another file before, or "${label}" with other reader options: set them back to retry, or start a run of its own`,
        {flow: id},
      )
    return pin ?? {id, sha256, reader}
  })
  const lineage = {
    modules: [...new Set([...(before?.modules ?? []), ...flows.map(({module}) => module)])],
    flows: [...new Map([...(before?.flows ?? []), ...named].map(flow => [flow.id, flow])).values()],
  }
  if (lineage.modules.length > mostNames || lineage.flows.length > mostNames)
    throw new Refusal('NOT_READY', `The runs of this chain have named ${mostNames} modules or flows: start a run of its own`)
  return lineage
}
