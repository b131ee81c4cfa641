import type {BeforeImage} from '../../../shared/runs/undo/before-image.ts'
import type {Context} from '../context.ts'
import type {ComparedField} from '../match/compare-values.ts'
import type {ParentedGroup} from '../subform/pack.ts'
import type {CompiledSubformFlow} from '../subform/record-order.ts'
import {valuesOfRows} from '../subform/row-values.ts'
import type {ReplaceUnit} from '../subform/subform-verdict.ts'

/**
 * Stores the subform rows that these groups replace, one image per parent record. Call it before their intents. A group that is sent again
 * has its image already. A parent that this run created needs none.
 */
export const keepRowImages = async (
  {images}: Pick<Context, 'images'>,
  flow: CompiledSubformFlow,
  fields: readonly ComparedField[],
  units: ReadonlyMap<ParentedGroup, ReplaceUnit>,
): Promise<void> => {
  await images?.keep(
    [...units].flatMap(([{parent, rows}, {record, held}]): BeforeImage[] => {
      const [first] = rows
      if (!first || parent.isMade || rows.some(({unansweredSends}) => unansweredSends > 0)) return []
      const {field} = flow.subform
      return [
        {
          row: first.number,
          key: first.key,
          flow: flow.no,
          module: flow.module.no,
          recordId: record,
          phase: 'write',
          before: {[field]: valuesOfRows(fields, held)},
          sent: {[field]: rows.map(({payload}) => payload)},
          subform: {field, rows: rows.map(({key, number}) => ({key, number}))},
        },
      ]
    }),
  )
}
