import {useState} from 'preact/hooks'
import {html} from '../html.ts'
import type {PageProps} from '../pages.ts'
import {useDoing} from '../state/load.ts'
import {to} from '../state/place.ts'
import {client, inOrg, may} from '../state/session.ts'
import {Button} from '../ui/button.ts'
import {at, count, plural} from '../ui/format.ts'
import {Notice, Problem} from '../ui/notice.ts'
import {Progress} from '../ui/progress.ts'
import {useCheck} from './check-job.ts'
import {describeProblemGroup, groupsOf, mendAt, sayFix, sayPlace} from './check-words.ts'
import {ImportFrame, NextStep} from './frame.ts'
import type {CheckProblem, Imported} from './import.ts'
import type {LoadedImport} from './known.ts'

/** The check step: finds rows that would fail, without calling the CRM. */
export const Check = ({params: {id}}: PageProps) => html`
  <${ImportFrame} id=${id} step="check" lead="Find problems in every row before you write anything to the CRM.">
    ${(loadedImport: LoadedImport) => html`<${CheckOf} known=${loadedImport} />`}
  <//>
`

const CheckOf = ({known: loadedImport}: {known: LoadedImport}) => {
  const {import: found, checks} = loadedImport
  const {isBusy, progress, failed, start} = useCheck(loadedImport)
  if (found.flows.length === 0)
    return html`<p class="empty">Nothing is mapped yet. <a href=${to('imports', found.id, 'mapping')}>Map the columns first</a>.</p>`
  const ended = checks?.checks.endedAt ? checks : null
  return html`
    ${isBusy && html`<${Progress} label="Checking rows" done=${progress?.done ?? 0} total=${progress?.total ?? null} text=${progress ? `${count(progress.done)} of ${progress.total === null ? 'all' : count(progress.total)} rows checked` : 'Checking …'} />`}
    <${Problem} error=${failed} title="The check failed" />
    <${Problem} error=${start.error} title="Could not start the check" />
    ${ended?.checks.stale && !isBusy && html`<${Notice} kind="warning" title="Out of date">Files, mappings or CRM fields have changed since this check. Check again.<//>`}
    <div class="row check-head">
      <p class="grow" role="status">${ended ? sayResult(loadedImport) : isBusy ? '' : 'Not checked yet.'}</p>
      ${found.state !== 'expired' && may('operator') && html`<${Button} kind=${ended && !ended.checks.stale ? 'plain' : 'main'} isBusy=${isBusy} onClick=${() => start.run()}>${ended ? 'Check again' : 'Check all rows'}<//>`}
    </div>
    ${ended && html`<${Problems} key=${ended.checks.endedAt} found=${found} first=${ended} />`}
    ${ended && !ended.checks.stale && html`<${NextStep} id=${found.id} step="try">Continue to dry run<//>`}
  `
}

const sayResult = ({checks}: LoadedImport) => {
  const {checks: check, problems} = checks!
  const errors = problems.filter(({severity}) => severity === 'error').length
  const said =
    errors > 0
      ? `${plural(errors, 'error')}`
      : problems.some(({severity}) => severity === 'warning')
        ? 'No errors, but warnings'
        : 'No errors'
  return `${said} in ${plural(check.rows ?? 0, 'row')}, ${at(check.endedAt)}.`
}

type ListedProblem = {problems: CheckProblem[]; nextCursor?: string | null}

/** Lists problems, errors first. They are loaded page by page. */
const Problems = ({found, first}: {found: Imported; first: ListedProblem}) => {
  const [more, setMore] = useState<ListedProblem[]>([])
  const last = more.at(-1) ?? first
  const read = useDoing(async () => {
    const page: ListedProblem = await client.get(inOrg(`/imports/${found.id}/checks`), {limit: 200, cursor: last.nextCursor})
    setMore([...more, page])
  })
  const labels = new Map(found.sources.map(({id, label}) => [id, label]))
  const problems = [...first.problems, ...more.flatMap(page => page.problems)]
  return html`
    ${groupsOf(problems).map(
      ({severity, problems: list}) => html`
        <section key=${severity} aria-label=${describeProblemGroup(severity, list.length)}>
          <h2>${describeProblemGroup(severity, list.length)}</h2>
          <ul class=${`plain found ${severity}`}>
            ${list.map((problem, at) => html`<li key=${at}><${OneProblem} id=${found.id} problem=${problem} labels=${labels} /></li>`)}
          </ul>
        </section>
      `,
    )}
    ${last.nextCursor && html`<p><${Button} isBusy=${read.isBusy} onClick=${() => read.run()}>Show more problems<//></p>`}
    <${Problem} error=${read.error} />
  `
}

const mendLabels = {files: 'Go to the files', columns: 'Go to the columns', mapping: 'Go to the mapping'}

type OneProps = {id: string; problem: CheckProblem; labels: ReadonlyMap<string, string>}

const OneProblem = ({id, problem, labels}: OneProps) => {
  const {message, rows, samples, count: total} = problem
  const mend = mendAt(problem)
  const where = sayPlace(problem, labels)
  const name = [problem.column ?? problem.field ?? problem.module].filter(Boolean).join('')
  return html`
    <p class="found-head"><strong>${message}</strong> ${rows.length > 0 && html`<span class="quiet">${plural(total, 'row')}</span>`}</p>
    ${where && html`<p class="quiet">${where}</p>`}
    ${rows.length > 0 && html`<p><span class="quiet">${total === 1 ? 'Row' : 'Rows'}</span> ${rows.slice(0, 8).map(count).join(', ')}${total > Math.min(8, rows.length) ? ' …' : ''} ${samples.length > 0 && html`<span class="samples">${samples.map(sample => html`<span class="sample">${sample === '' ? 'empty' : sample.slice(0, 60)}</span>`)}</span>`}</p>`}
    <p>${sayFix(problem)} <a href=${to('imports', id, mend.step, mend.query)}>${mendLabels[mend.step]}${name && html`<span class="unseen">: ${name}</span>`}</a></p>
  `
}
