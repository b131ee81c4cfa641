import {html} from '../html.ts'
import {to} from '../state/place.ts'
import {count, percent, plural} from '../ui/format.ts'
import type {Run} from './run.ts'
import {type Account, accountOf, outcomeWords} from './tally.ts'

const share = (rows: number, total: number) => (total > 0 ? rows / total : 0)

/** A share as people read it: what is not nothing is never 0 %, and what is not all never 100 %. */
const sayShare = (part: number) => {
  if (part > 0 && part < 0.01) return '< 1%'
  return part < 1 && part > 0.99 ? '> 99%' : percent(part)
}

/** How the rows of a run ended, as a table whose lines are bars; beside each the way to its rows. */
export const Outcomes = ({run, importId}: {run: Run; importId: string | null}) => {
  const account = accountOf(run)
  const total = account.total ?? account.told
  return html`
    <table class="run-outcomes">
      <caption class="unseen">Rows by what became of them</caption>
      <thead class="unseen"><tr><th scope="col">Outcome</th><th scope="col">Rows</th><th scope="col">Share</th></tr></thead>
      <tbody>
        ${account.lines.map(({key, rows, byModule}) => {
          const {word, means, tone} = outcomeWords[key]
          const canShow = importId && !run.dryRun && key !== 'filtered' && !run.expiredAt
          return html`
            <tr key=${key}>
              <th scope="row">
                ${canShow ? html`<a href=${to('imports', importId, 'results', {run: run.id, outcome: key})}>${word}</a>` : word}
                <span class="hint">${means}${account.modules.length > 1 && ` · ${sayModules(account, byModule)}`}</span>
              </th>
              <td class="number">${count(rows)}</td>
              <td class="bar-cell"><${Bar} tone=${tone} part=${share(rows, total)} /></td>
            </tr>
          `
        })}
        ${
          account.notReached > 0 &&
          html`
            <tr>
              <th scope="row">${run.state === 'ended' ? 'Not reached' : 'Still to do'}<span class="hint">${run.state === 'ended' ? 'the run ended before it came to them' : 'the run has not come to them yet'}</span></th>
              <td class="number">${count(account.notReached)}</td>
              <td class="bar-cell"><${Bar} tone="todo" part=${share(account.notReached, total)} /></td>
            </tr>
          `
        }
      </tbody>
      <tfoot>
        <tr><th scope="row">Rows in all</th><td class="number">${count(total)}</td><td></td></tr>
      </tfoot>
    </table>
  `
}

const sayModules = ({modules}: Account, byModule: number[]) =>
  modules.flatMap((name, at) => (byModule[at] ? `${name} ${count(byModule[at])}` : [])).join(', ')

const Bar = ({part, tone}: {part: number; tone: string}) => html`
  <span class="run-bar"><span class=${`bar-part ${tone}`} style=${{width: `${Math.max(part > 0 ? 0.5 : 0, part * 100)}%`}}></span></span>
  <span class="bar-said">${sayShare(part)}</span>
`

/** That every row is told of, in one sentence that adds up. */
export const EveryRow = ({run}: {run: Run}) => {
  const {lines, told, total, notReached} = accountOf(run)
  if (total === null || lines.length === 0) return null
  const parts = [
    ...lines.map(({key, rows}) => `${count(rows)} ${outcomeWords[key].word.toLowerCase()}`),
    ...(notReached ? [`${count(notReached)} not reached`] : []),
  ]
  const isExact = told + notReached === total
  return html`
    <p class="every-row">
      ${isExact && html`<span class="tick" aria-hidden="true">✓</span>`} ${parts.join(' + ')} = <strong>${plural(total, 'row')}</strong>${isExact ? '. Every row is accounted for.' : ''}
    </p>
  `
}
