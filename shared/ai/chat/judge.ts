import type {Flow} from '../../flows/flow.ts'
import {type Columns, judgeColumns} from '../local-mapping.ts'
import type {Sampled} from '../outgoing.ts'
import type {PersonalField} from '../personal-fields.ts'

/** `flows`: of the import, whose columns are personal too where a personal field is filled from them, as they are or by an expression. */
export const judge = (columns: Columns, personal: readonly PersonalField[], flows: readonly Flow[]): Sampled[] => {
  const isPersonal = fieldTest(personal)
  const fills = flows.flatMap(({module, fields}) => fields.filter(({field}) => isPersonal(module, field)))
  const isMapped = (name: string) =>
    fills.some(
      ({source, transform, searchExpression}) =>
        source === name || [transform, searchExpression].some(text => text?.includes(name) ?? false),
    )
  return judgeColumns(columns, {personal}, []).map(one => ({...one, pii: one.pii || isMapped(one.name)}))
}

export const fieldTest = (personal: readonly PersonalField[]) => {
  const known = new Set(personal.map(({module, field}) => `${module} ${field.apiName}`))
  return (module: string | null, field: string | null) => known.has(`${module} ${field}`)
}
