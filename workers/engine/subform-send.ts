import type {WriteAnswer, WriteOptions} from '../../shared/crm/crm.ts'
import type {Context} from './context.ts'
import type {Track} from './row.ts'
import type {Unit} from './subform-verdict.ts'
import type {Op} from './verdict.ts'

/** What these rows are replaced in. */
const unitsOf = (ops: Op[]): Unit[] => [...new Set(ops.flatMap(({unit}) => unit ?? []))]

/** As the CRM counts them: the rows of a record come with it. */
export const countRecords = (ops: Op[]): number => (ops[0]?.unit ? unitsOf(ops).length : ops.length)

/** One request for all records these rows belong to. Each row has its record's answer. */
export const replaceRows = async ({connection}: Context, {subform}: Track, ops: Op[], options: WriteOptions): Promise<WriteAnswer> => {
  const {module, field} = subform!
  const adds = Map.groupBy(ops, ({unit}) => unit!)
  const units = [...adds.keys()]
  const parents = units.map(unit => ({
    ...{id: unit.record, field, deletes: unit.deletes},
    adds: adds.get(unit)!.map(({row}) => row.payload),
  }))
  const {results, ...answer} = await connection.replaceRows(module, parents, options)
  const ofUnit = new Map(units.map((unit, at) => [unit, results[at]!]))
  return {...answer, results: ops.map(({unit}) => ofUnit.get(unit!)!)}
}
