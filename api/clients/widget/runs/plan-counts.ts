import {html} from '../html.ts'
import {to} from '../state/place.ts'
import {count} from '../ui/format.ts'
import {Problem} from '../ui/notice.ts'
import {Pill} from '../ui/pill.ts'
import {type Column, Table} from '../ui/table.ts'
import {EveryRow, UnmappedValues} from './outcomes.ts'
import type {Run} from './run.ts'
import {type ActionKey, actionKeys, actionWords, type PlanLine, planOf} from './tally.ts'
import type {Tally} from './use-tally.ts'

/** Shows the planned actions by module. Each number links to its rows. */
export const PlanCounts = ({tally, run, importId}: {tally: Tally; run: Run; importId: string}) => {
  const lines = planOf(tally.groups)
  const used = actionKeys.filter(key => lines.some(({actions}) => actions[key] > 0))
  const figure = (line: PlanLine, key: ActionKey) =>
    line.actions[key] === 0
      ? html`<span class="quiet">0</span>`
      : html`<a href=${to('imports', importId, 'try', {run: run.id, action: key, module: lines.length > 1 ? line.module : undefined})} aria-label=${`${count(line.actions[key])}, show these rows: ${actionWords[key].word}`}>${count(line.actions[key])}</a>`
  const columns: Column<PlanLine>[] = [
    {head: 'Module', cell: ({label}) => label, isName: true},
    ...used.map(key => ({
      head: html`<span title=${actionWords[key].means}><${Pill} tone=${actionWords[key].tone}>${actionWords[key].word}<//></span>`,
      label: actionWords[key].word,
      cell: (line: PlanLine) => figure(line, key),
      isNumber: true,
    })),
  ]
  return html`
    <${Problem} error=${tally.error} again=${tally.again} />
    ${lines.length > 0 && html`<${Table} caption="Planned actions by module" columns=${columns} rows=${lines} keyOf=${({module}: PlanLine) => module} />`}
    ${!tally.isWhole && !tally.error && html`<p class="loading" role="status">Counting …</p>`}
    <${EveryRow} run=${run} />
    <${UnmappedValues} run=${run} />
  `
}
