import {z} from 'zod'
import {Refusal} from '../../errors.ts'
import {isCompatibleReader} from '../../files/reader.ts'
import {OnEdited} from './edits.ts'

/**
 * What all runs of a retry chain share. The number of a module or flow is its position in these lists, from 1. The chain stores its records and open
 * questions under these numbers, so entries are never removed. A flow's row numbers refer to one file, read with one reader, and its records are in
 * one module. Earlier builds stored no module.
 */
export const Lineage = z.object({
  modules: z.array(z.string()),
  flows: z.array(z.object({id: z.string(), sha256: z.string(), reader: z.unknown(), module: z.string().optional()})),
  /**
   * `clock`: the time that expressions see as now, in ms since 1970. `seed`: the seed of the random numbers that expressions get. Both are
   * stored, so that a retried row gives the same values.
   */
  clock: z.number().default(0),
  seed: z.string().default(''),
  /** What the chain's runs do with edited values if no setting applies. */
  onEdited: OnEdited.default('overwrite'),
})
export type Lineage = z.infer<typeof Lineage>

const mostNames = 1_000

type Names = Pick<Lineage, 'modules' | 'flows'>
type WrittenFields = {id: string; module: string; sourceId: string}
type ReadColumns = {id: string; label: string; sha256: string; reader: unknown}

/**
 * Extends the lineage for a chain's next run, or creates it for the first run. Throws SNAPSHOT_CHANGED for a flow whose file or reader changed,
 * because the same row numbers would mean other rows. A person may accept open quotes between the runs. Also throws for a changed module: the run
 * would not find the records of earlier runs, and so would write every row again.
 */
export const extendLineage = (before: Names | null, {flows, sources}: {flows: WrittenFields[]; sources: ReadColumns[]}): Names => {
  const pinned = new Map(before?.flows.map(flow => [flow.id, flow]))
  const named = flows.map(({id, sourceId, module}) => {
    const {sha256, reader, label} = sources.find(source => source.id === sourceId)!
    const pin = pinned.get(id)
    if (pin && (pin.sha256 !== sha256 || !isCompatibleReader(pin.reader, reader)))
      throw new Refusal(
        'SNAPSHOT_CHANGED',
        `Flow ${id} read another file in the earlier run, or read "${label}" with other reader options. Restore the file and options to retry. To correct failed rows, upload the corrected rows to the run`,
        {flow: id},
      )
    if (pin?.module !== undefined && pin.module !== module)
      throw new Refusal(
        'SNAPSHOT_CHANGED',
        `Flow ${id} wrote ${pin.module} in the earlier run. If it wrote ${module} now, it would write every row again. Restore the module to retry. If its name changed in the CRM, match existing records in the flow, then start a new run`,
        {flow: id},
      )
    return {id, sha256, reader, module}
  })
  const lineage = {
    modules: [...new Set([...(before?.modules ?? []), ...flows.map(({module}) => module)])],
    flows: [...new Map([...(before?.flows ?? []), ...named].map(flow => [flow.id, flow])).values()],
  }
  if (lineage.modules.length > mostNames || lineage.flows.length > mostNames)
    throw new Refusal('NOT_READY', `The runs of this retry chain use more than ${mostNames} modules or flows. Remove flows`)
  return lineage
}
