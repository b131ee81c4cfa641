import {questionKeyOf} from '../../../shared/mapping/flows/question-key.ts'
import {shortHash} from '../../../shared/security/short-hash.ts'
import {findDecisions} from '../../../sql/decisions.ts'
import type {Context} from '../context.ts'
import type {CompiledFlow} from '../model.ts'
import {logEntryOf} from '../settle/log-entries.ts'
import type {SettlementParts} from '../settle/settler.ts'
import type {Op} from '../settle/verdict.ts'

/** A field whose value a person edited. `form`: the comparable form of that value, as `readFormOf` returns it. */
export type EditedField = {field: string; form: string}

/**
 * An update compared with its record. `written`: the fields to write. `equal`: fields whose value the record already has. `kept`: fields whose edited
 * value stays. `asked`: edited fields about which a user must choose. `logged`: fields of `kept` that an earlier owner of the run logged.
 */
export type ComparedUpdate = Op & {
  target: string
  written: string[]
  equal: string[]
  kept: string[]
  asked: EditedField[]
  logged: string[]
}

/**
 * Applies the decisions of users about edited values. Moves each decided field from `asked` to `written` or `kept`. Uses only decisions made before
 * the run began, so every owner of the run decides the same.
 */
export const decideEdits = async (ctx: Context, flow: CompiledFlow, updates: ComparedUpdate[]): Promise<void> => {
  const {importNo} = ctx.run
  const upTo = ctx.snapshot.decidedUpTo
  const asking = updates.flatMap(update => update.asked.map(edited => ({update, edited, key: keyOf(flow, update, edited)})))
  if (asking.length === 0 || upTo === 0 || importNo === null) return
  const of = {keys: asking.map(({key}) => key), fields: asking.map(({edited}) => edited.field)}
  const found = await findDecisions(ctx.hot, {importNo, upTo, flowId: flow.id, kind: 'edit', ...of})
  const choices = new Map(found.map(({key, choice}) => [key.toString('hex'), choice]))
  for (const {update, edited, key} of asking) {
    const choice = choices.get(key.toString('hex'))
    if (choice !== 'overwrite' && choice !== 'keep') continue
    update.asked = update.asked.filter(one => one !== edited)
    update[choice === 'keep' ? 'kept' : 'written'].push(edited.field)
  }
}

/** Adds a question whether to overwrite an edited value. A dry run also logs that a real run would ask. */
export const addEditQuestion = (
  {run}: Pick<Context, 'run'>,
  flow: CompiledFlow,
  settled: SettlementParts,
  update: Op & {target: string},
  edited: EditedField,
) => {
  const {row, target} = update
  const {field} = edited
  const about = {kind: 'edit' as const, flowId: flow.id, module: flow.module.apiName, field}
  settled.asked.push({...about, key: keyOf(flow, update, edited), candidates: [target], found: 1, number: row.number})
  if (run.dryRun)
    settled.log.push(
      logEntryOf(flow, row, {
        phase: 'edit',
        target: field,
        recordId: target,
        outcome: 'would_ask',
        code: 'EDITED',
        message: `A person changed ${field} in the CRM`,
      }),
    )
}

/** Returns the key of the question. The key depends on the edited value, so a later edit raises a new question. */
const keyOf = ({id}: CompiledFlow, {target}: {target: string | null}, {field, form}: EditedField) =>
  questionKeyOf({kind: 'edit', flowId: id, field, value: shortHash(JSON.stringify([target, form]))})
