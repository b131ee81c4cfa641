import {useState} from 'preact/hooks'
import {html} from '../html.ts'
import {embed} from '../state/embed.ts'
import {useDoing} from '../state/load.ts'
import {to} from '../state/place.ts'
import {client, inOrg} from '../state/session.ts'
import {sayRowReason} from '../text/errors.ts'
import {t} from '../text/mapping.ts'
import {Button} from '../ui/button.ts'
import {count} from '../ui/format.ts'
import {withLabel} from '../ui/labels.ts'
import {Problem} from '../ui/notice.ts'
import {describeProblemGroup, fixQuery, groupsOf, sayFix, sayPlace} from './check-words.ts'
import {FixValues} from './fix-values.ts'
import type {CheckProblem, Imported} from './import.ts'
import type {LoadedImport} from './known.ts'
import {useFieldLabels} from './module-data.ts'
import {listFixableProblems} from './value-entries.ts'

/**
 * The problems that the last check found, grouped by severity. The groups are collapsed at first. Problems that a value map can fix are shown
 * above.
 */
export const ReviewProblems = ({known: {import: found, checks, again}}: {known: LoadedImport}) => {
  if (!checks || checks.checks.endedAt === null || checks.problems.length === 0) return null
  return html`
    ${embed.value ? null : listFixableProblems(found, checks.problems).map(problem => html`<${FixValues} key=${`${problem.flow} ${problem.field}`} found=${found} problem=${problem} again=${again} />`)}
    <${Problems} key=${checks.checks.endedAt} found=${found} first=${checks} />
  `
}

type ListedProblem = {problems: CheckProblem[]; nextCursor?: string | null}

const Problems = ({found, first}: {found: Imported; first: ListedProblem}) => {
  const [more, setMore] = useState<ListedProblem[]>([])
  const last = more.at(-1) ?? first
  const read = useDoing(async () => {
    const page: ListedProblem = await client.get(inOrg(`/imports/${found.id}/checks`), {limit: 200, cursor: last.nextCursor})
    setMore([...more, page])
  })
  const sayField = useFieldLabels(
    found.connectorId,
    found.flows.map(({module}) => module),
  )
  const labels = {sources: new Map(found.sources.map(({id, label}) => [id, label])), field: sayField}
  const problems = [...first.problems, ...more.flatMap(page => page.problems)]
  return html`
    ${groupsOf(problems).map(
      ({severity, problems: list}) => html`
        <details key=${severity} class="sheet problem-group">
          <summary>${describeProblemGroup(severity, list.length)}</summary>
          <ul class=${`plain found ${severity}`}>
            ${list.map((problem, at) => html`<li key=${at}><${OneProblem} id=${found.id} problem=${problem} labels=${labels} /></li>`)}
          </ul>
        </details>
      `,
    )}
    ${last.nextCursor && html`<p><${Button} isBusy=${read.isBusy} onClick=${() => read.run()}>${t.showMoreProblems}<//></p>`}
    <${Problem} error=${read.error} />
  `
}

type OneProps = {id: string; problem: CheckProblem; labels: Parameters<typeof sayPlace>[1]}

const OneProblem = ({id, problem, labels}: OneProps) => {
  const {message, rows, samples, count: total, module, field} = problem
  const where = sayPlace(problem, labels)
  const label = module && field && labels.field(module, field)
  const name = problem.column ?? (module && field ? labels.field(module, field) : module)
  return html`
    <p class="found-head"><strong>${sayRowReason(problem.kind.toUpperCase(), label) ?? withLabel(message, field, label)}</strong> ${rows.length > 0 && html`<span class="quiet">${t.rowCount(total)}</span>`}</p>
    ${where && html`<p class="quiet">${where}</p>`}
    ${rows.length > 0 && html`<p><span class="quiet">${total === 1 ? t.row : t.rows}</span> ${rows.slice(0, 8).map(count).join(', ')}${total > Math.min(8, rows.length) ? ' …' : ''} ${samples.length > 0 && html`<span class="samples">${samples.map(sample => html`<span class="sample">${sample === '' ? t.empty : sample.slice(0, 60)}</span>`)}</span>`}</p>`}
    <p>${sayFix(problem, embed.value !== null)} <a href=${to('imports', id, 'match', fixQuery(problem))}>${t.goToTheColumn}${name && html`<span class="unseen">: ${name}</span>`}</a></p>
  `
}
