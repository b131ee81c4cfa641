import {createHmac, randomBytes} from 'node:crypto'
import {keySealingOf} from '../../../shared/mapping/edit-marks/reseal.ts'
import {open, seal} from '../../../shared/security/secrets.ts'
import {keepWrittenModule, listMarks, listWrittenModules} from '../../../sql/written-records.ts'
import type {Context} from '../context.ts'
import {formOf, isComparable} from '../match/compare-values.ts'
import type {CompiledFlow, FlowField} from '../model.ts'

type Values = Record<string, unknown>

/** The marks of the values that a record had when Lading last wrote or confirmed them. `days`: the days since the marks were stored last. */
export type WrittenValues = {
  days: number
  /** Whether the field's last written or confirmed value has this compared form. Null: that value is unknown. */
  held(field: string, form: string): boolean | null
  /** Whether the stored marks of the fields in `marks` are exactly these marks. */
  includes(marks: Buffer): boolean
  /** The marks as they are stored. */
  packed: Buffer
}

/** The marks of one module's records. A mark is a keyed digest, so no value can be read from it. */
export type ModuleMarks = {
  list(recordIds: string[]): Promise<Map<string, WrittenValues>>
  /** Returns the marks of a record with these values, in the format of `written_records`. Values that cannot be compared are left out. */
  pack(recordId: string, values: Values): Buffer
  /**
   * Returns packed marks that restore the marks of `older` for these fields. For a field without a mark in `older`, the last written value
   * becomes unknown.
   */
  restore(fields: string[], older: Buffer): Buffer
}

type MarkedFlow = Pick<CompiledFlow, 'module' | 'mappings' | 'parent' | 'edits' | 'subform' | 'patchPlan'> & {marks?: ModuleMarks | null}

/**
 * Opens the marks of each module that the flows write, if it already has marks or one of these flows keeps edits in it. A flow that overwrites edits
 * in such a module stores marks too, so that its values do not look like edits later. A dry run opens only modules that already have marks.
 */
export const openMarks = async (ctx: Pick<Context, 'connection' | 'config' | 'db' | 'hot' | 'run'>, flows: MarkedFlow[]): Promise<void> => {
  const {org, id: connector} = ctx.connection.connector
  const marked = new Set(await listWrittenModules(ctx.db, {org, connector}))
  const rows = flows.filter(({subform}) => !subform)
  if (!ctx.run.dryRun) for (const {edits, module} of rows) if (edits) marked.add(module.apiName)
  const needing = rows.filter(({module}) => marked.has(module.apiName))
  for (const [module, of] of Map.groupBy(needing, ({module}) => module.apiName)) {
    const fields = new Map(of.flatMap(listWritten).map(field => [field.apiName, field]))
    const marks = await openModuleMarks(ctx, {org, connector, module}, fields)
    for (const flow of of) flow.marks = marks
  }
}

/** Lists the comparable fields that the flow writes. For a patch pass, includes the links that it writes. */
const listWritten = ({module, mappings, parent, patchPlan}: MarkedFlow): FlowField[] => {
  const links = [parent?.field, patchPlan?.parent?.field, patchPlan?.repair?.parent?.field]
  const written = [...mappings, ...(patchPlan?.repair?.mappings ?? [])].map(({field}) => field)
  return [...written, ...module.fields.filter(({apiName}) => links.includes(apiName))].filter(isComparable)
}

type ModuleRef = {org: string; connector: string; module: string}

const openModuleMarks = async (
  {config, db, hot}: Pick<Context, 'config' | 'db' | 'hot'>,
  at: ModuleRef,
  fields: ReadonlyMap<string, FlowField>,
): Promise<ModuleMarks> => {
  const [ring, place] = [config.SECRETS_KEYS, keySealingOf(at)]
  const keySealed = seal(ring, randomBytes(32).toString('hex'), place)
  const kept = await keepWrittenModule(db, {...at, keySealed, fields: [...fields.keys()]})
  const key = Buffer.from(open(ring, kept.keySealed, place), 'hex')
  const numbers = new Map(kept.fields.map((field, index) => [field, index + 1]))
  const digestOf = (recordId: string, no: number, form: string) =>
    createHmac('sha256', key).update(`${recordId} ${no} ${form}`).digest('binary').slice(0, digestBytes)
  return {
    async list(records) {
      const found = await listMarks(hot, {...at, records})
      return new Map(
        found.map(({recordId, marks, days}) => {
          const digests = unpack(marks)
          const held = (field: string, form: string) => {
            const no = numbers.get(field)
            const known = no === undefined ? undefined : digests.get(no)
            return known && !known.includes(noDigest) ? known.includes(digestOf(recordId, no!, form)) : null
          }
          const includes = (fresh: Buffer) =>
            unpack(fresh)
              .entries()
              .every(([no, given]) => digests.get(no)?.join() === given.join())
          return [recordId, {days, held, includes, packed: marks}]
        }),
      )
    },
    restore: (names, older) => {
      const digests = unpack(older)
      const marks = names.flatMap(name => {
        const no = numbers.get(name)
        if (no === undefined) return []
        return (digests.get(no) ?? [noDigest]).map(digest => String.fromCharCode(no >> 8, no & 255) + digest)
      })
      return Buffer.from(marks.sort().join(''), 'latin1')
    },
    pack: (recordId, values) => {
      const marks = Object.entries(values).flatMap(([name, value]) => {
        const field = fields.get(name)
        const form = field && formOf(field, value)
        if (form === undefined) return []
        const no = numbers.get(name)!
        return [String.fromCharCode(no >> 8, no & 255) + digestOf(recordId, no, form)]
      })
      return Buffer.from(marks.sort().join(''), 'latin1')
    },
  }
}

/** The bytes of the two parts of a mark: the number of its field, then the beginning of a digest. */
const [numberBytes, digestBytes] = [2, 6]
/** The digest of a field whose last written value is unknown. */
const noDigest = '\0'.repeat(digestBytes)

const unpack = (marks: Buffer): Map<number, string[]> => {
  const digests = new Map<number, string[]>()
  for (let at = 0; at < marks.length; at += numberBytes + digestBytes) {
    const no = marks.readUInt16BE(at)
    const digest = marks.toString('latin1', at + numberBytes, at + numberBytes + digestBytes)
    digests.set(no, [...(digests.get(no) ?? []), digest])
  }
  return digests
}
