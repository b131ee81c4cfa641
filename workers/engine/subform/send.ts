import type {WriteAnswer, WriteOptions} from '../../../shared/crm/crm.ts'
import type {Context} from '../context.ts'
import type {CompiledFlow} from '../model.ts'
import type {Op} from '../settle/verdict.ts'
import type {ReplaceUnit} from './subform-verdict.ts'

const unitsOf = (ops: Op[]): ReplaceUnit[] => [...new Set(ops.flatMap(({unit}) => unit ?? []))]

/** Counts records as the CRM does: a record with its subform rows counts once. */
export const countRecords = (ops: Op[]): number => (ops[0]?.unit ? unitsOf(ops).length : ops.length)

/** Replaces the rows of all these records in one request. Each row gets the answer for its record. */
export const replaceRows = async (
  {connection}: Context,
  {subform}: CompiledFlow,
  ops: Op[],
  options: WriteOptions,
): Promise<WriteAnswer> => {
  const {module, field} = subform!
  const adds = Map.groupBy(ops, ({unit}) => unit!)
  const units = [...adds.keys()]
  const parents = units.map(unit => ({
    id: unit.record,
    field,
    deletes: unit.deletes,
    adds: unit.adds ?? adds.get(unit)!.map(({row}) => row.payload),
  }))
  const {results, ...answer} = await connection.replaceRows(module, parents, options)
  const ofUnit = new Map(units.map((unit, at) => [unit, results[at]!]))
  return {...answer, results: ops.map(({unit}) => ofUnit.get(unit!)!)}
}
