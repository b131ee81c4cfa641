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
import {groupsOf, mendAt, sayFix, sayGroup, sayPlace} from './check-words.ts'
import {ImportFrame, NextStep} from './frame.ts'
import type {CheckProblem, Imported} from './import.ts'
import type {Known} from './known.ts'

/** What would fail in a run, found in every row without asking the CRM. */
export const Check = ({params: {id}}: PageProps) => html`
  <${ImportFrame} id=${id} step="check" lead="Every row is read as a run would read it. The CRM is asked nothing, and nothing is written.">
    ${(known: Known) => html`<${CheckOf} known=${known} />`}
  <//>
`

const CheckOf = ({known}: {known: Known}) => {
  const {import: found, checks} = known
  const {isBusy, progress, failed, start} = useCheck(known)
  if (found.flows.length === 0)
    return html`<p class="empty">Nothing is mapped yet. <a href=${to('imports', found.id, 'mapping')}>Map the columns first</a>.</p>`
  const ended = checks?.checks.endedAt ? checks : null
  return html`
    ${isBusy && html`<${Progress} label="Checking rows" done=${progress?.done ?? 0} total=${progress?.total ?? null} text=${progress ? `${count(progress.done)} of ${progress.total === null ? 'all' : count(progress.total)} rows checked` : 'Checking …'} />`}
    <${Problem} error=${failed} title="The check did not end" />
    <${Problem} error=${start.error} title="The check was not begun" />
    ${ended?.checks.stale && !isBusy && html`<${Notice} kind="warning" title="Out of date">Files, mappings or the CRM’s fields have changed since this check: check again.<//>`}
    <div class="row check-head">
      <p class="grow" role="status">${ended ? sayResult(known) : isBusy ? '' : 'Not checked yet.'}</p>
      ${found.state !== 'expired' && may('operator') && html`<${Button} kind=${ended && !ended.checks.stale ? 'plain' : 'main'} isBusy=${isBusy} onClick=${() => start.run()}>${ended ? 'Check again' : 'Check every row'}<//>`}
    </div>
    ${ended && html`<${Problems} key=${ended.checks.endedAt} found=${found} first=${ended} />`}
    ${ended && !ended.checks.stale && html`<${NextStep} id=${found.id} step="try">Go on to try<//>`}
  `
}

const sayResult = ({checks}: Known) => {
  const {checks: check, problems} = checks!
  const errors = problems.filter(({severity}) => severity === 'error').length
  const said =
    errors > 0
      ? `${plural(errors, 'problem')} found`
      : problems.some(({severity}) => severity === 'warning')
        ? 'No problem found; look at the warnings'
        : 'No problem found'
  return `${said} in ${plural(check.rows ?? 0, 'row')}, ${at(check.endedAt)}.`
}

type Listed = {problems: CheckProblem[]; nextCursor?: string | null}

/** Hundreds of problems come page by page, errors first. */
const Problems = ({found, first}: {found: Imported; first: Listed}) => {
  const [more, setMore] = useState<Listed[]>([])
  const last = more.at(-1) ?? first
  const read = useDoing(async () => {
    const page: Listed = await client.get(inOrg(`/imports/${found.id}/checks`), {limit: 200, cursor: last.nextCursor})
    setMore([...more, page])
  })
  const labels = new Map(found.sources.map(({id, label}) => [id, label]))
  const problems = [...first.problems, ...more.flatMap(page => page.problems)]
  return html`
    ${groupsOf(problems).map(
      ({severity, problems: list}) => html`
        <section key=${severity} aria-label=${sayGroup(severity, list.length)}>
          <h2>${sayGroup(severity, list.length)}</h2>
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
