import {useId} from 'preact/hooks'
import {html} from '../html.ts'
import type {LoadedImport} from '../imports/known.ts'
import {columnAsItIs} from '../imports/value-entries.ts'
import {useLoad} from '../state/load.ts'
import {inOrg} from '../state/session.ts'
import {t} from '../text/decide.ts'
import {at} from '../ui/format.ts'
import {sayName} from '../ui/labels.ts'
import {Shown} from '../ui/page.ts'
import {Pill} from '../ui/pill.ts'
import {type Choice, chosenOf, isSame, labelOfField, type Question, sayRows, sayValue} from './answering.ts'
import {Plain} from './plain-choice.ts'
import {readCells} from './row-detail.ts'

/**
 * Reads the cell that fills a field of a row. Null if the flow does not write a column unchanged into the field, or if the cell cannot be read.
 */
export type ReadCell = (at: {flowId: string; field: string; row: number}, signal: AbortSignal) => Promise<string | null>

export const openCells =
  ({import: {flows}}: LoadedImport, importId: string): ReadCell =>
  async ({flowId, field, row}, signal) => {
    const flow = flows.find(({id}) => id === flowId)
    const column = flow && columnAsItIs(flow.fields.find(one => one.field === field))
    if (!flow || !column) return null
    const cells = await readCells(inOrg(`/imports/${importId}/sources/${flow.sourceId}/rows`), row, signal).catch(() => null)
    return cells?.find(cell => cell.column === column)?.value ?? null
  }

type EditProps = {question: Question; draft: Choice | undefined; onChoose: (choice: Choice) => void; readCell: ReadCell}

/** A question whether to overwrite a value that a person changed in the CRM. The cell of the file is read when the question is shown. */
export const EditSheet = ({question, draft, onChoose, readCell}: EditProps) => {
  const {flowId, module, rowNumbers, candidates, answer} = question
  const field = question.field!
  const row = rowNumbers[0] ?? 1
  const cell = useLoad<{value: string | null}>(async signal => ({value: await readCell({flowId, field, row}, signal)}), [question.key])
  const chosen = chosenOf(question, draft)
  const name = useId()
  const [record] = candidates
  const option = (choice: Choice) => ({name, isChosen: isSame(chosen, choice), choose: () => onChoose(choice)})
  const label = labelOfField(question, field)
  return html`
    <fieldset class="run-question sheet">
      <legend>${t.overwriteWith(label, record?.$display_name ?? t.aRecordIn(sayName(module)), sayRows(question))}</legend>
      <p class="quiet">
        ${t.aPersonChangedTheValueInThe} ${draft ? html`<${Pill} tone="warning">${t.notSavedYet}<//>` : answer && html`<${Pill} tone="good">${t.answered(at(answer.at))}<//>`}
      </p>
      <dl class="row-cells">
        <div><dt>${t.inTheCrm}</dt><dd>${record ? sayValue(record[field]) || html`<span class="quiet">${t.empty}</span>` : t.theRecordNoLongerExists}</dd></div>
        <div><dt>${t.inTheFile}</dt><dd><${Shown} of=${cell}>${({value}: {value: string | null}) => (value === null ? html`<span class="quiet">${t.computedFromTheRow}</span>` : value || html`<span class="quiet">${t.empty}</span>`)}<//></dd></div>
      </dl>
      <div class="row run-otherwise">
        <${Plain} ...${option({choice: 'keep'})}>${t.keepTheCrmsValue}<//>
        <${Plain} ...${option({choice: 'overwrite'})}>${t.overwriteWithTheFilesValue}<//>
      </div>
    </fieldset>
  `
}
