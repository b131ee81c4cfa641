import {html} from '../html.ts'
import type {Imported} from '../imports/import.ts'
import {useFlowFieldLabels} from '../imports/module-data.ts'
import {to} from '../state/place.ts'
import {inSentence} from '../text/language.ts'
import {t} from '../text/runs.ts'
import {count, percent} from '../ui/format.ts'
import {Notice} from '../ui/notice.ts'
import type {Run} from './run.ts'
import {type Account, accountOf, emptyLinksOf, wordsOf} from './tally.ts'

const share = (rows: number, total: number) => (total > 0 ? rows / total : 0)

/** Formats a share from 0 to 1 as a percentage. Only 0 is shown as 0 %, and only 1 as 100 %. */
const sayShare = (part: number) => {
  if (part > 0 && part < 0.01) return `< ${percent(0.01)}`
  return part < 1 && part > 0.99 ? `> ${percent(0.99)}` : percent(part)
}

/**
 * The outcomes of a run as a table. With an `importId`, each outcome except `filtered` links to its rows. Dry runs and expired runs have no links.
 */
export const Outcomes = ({run, importId}: {run: Run; importId: string | null}) => {
  const account = accountOf(run)
  const total = account.total ?? account.told
  return html`
    <table class="run-outcomes">
      <caption class="unseen">${t.rowsByOutcome}</caption>
      <thead class="unseen"><tr><th scope="col">${t.outcome}</th><th scope="col">${t.rows}</th><th scope="col">${t.share}</th></tr></thead>
      <tbody>
        ${account.lines.map(({key, rows, byModule}) => {
          const {word, means, tone} = wordsOf(run, key)
          const canShow = importId && !run.dryRun && key !== 'filtered' && !run.expiredAt
          return html`
            <tr key=${key}>
              <th scope="row">
                ${canShow ? html`<a href=${to('imports', importId, 'results', {run: run.id, outcome: key, phase: 'write'})}>${word}</a>` : word}
                <span class="hint">${means}${account.modules.length > 1 && ` · ${sayModules(account, byModule)}`}${key === 'skipped' && sayUnchanged(run)}${key === 'skipped' && !run.undoOf && sayKeptRows(run)}${key === 'updated' && sayKeptEdits(run)}</span>
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
              <th scope="row">${run.state === 'ended' ? t.notReached : t.remaining}<span class="hint">${run.state === 'ended' ? t.theRunEndedBeforeTheseRows : t.notProcessedYet}</span></th>
              <td class="number">${count(account.notReached)}</td>
              <td class="bar-cell"><${Bar} tone="todo" part=${share(account.notReached, total)} /></td>
            </tr>
          `
        }
      </tbody>
      <tfoot>
        <tr><th scope="row">${t.total}</th><td class="number">${count(total)}</td><td></td></tr>
      </tfoot>
    </table>
  `
}

export const EmptyLinks = ({run, found}: {run: Run; found: Imported}) => {
  const links = emptyLinksOf(run)
  const sayField = useFlowFieldLabels(found, links > 0)
  if (links === 0) return null
  const fields = run.linksEmpty!.map(({flowId, field, rows}) => `${sayField(flowId, field)} ${count(rows)}`).join(', ')
  return html`
    <${Notice} kind="warning" title=${t.linksLeftEmpty(links)} actions=${html`<a class="button" href=${to('imports', found.id, 'results', {run: run.id, linkEmpty: 'true'})}>${t.showRows}</a>`}>
      ${(run.dryRun ? t.plannedWithoutLink : t.writtenWithoutLink)(fields)} ${run.dryRun ? t.importTheLinkedRecordsFirst : t.createTheLinkedRecordsThenRetryThe}
    <//>
  `
}

const sayUnchanged = ({unchanged = 0, creditsSaved}: Run) =>
  unchanged > 0 && t.unchanged(count(unchanged)) + (creditsSaved ? t.whichSaved(creditsSaved) : '')

/** Describes how many skipped rows would only have overwritten values that people changed in the CRM. */
const sayKeptRows = ({keptRows = 0}: Run) => keptRows > 0 && t.keptBecausePeopleChangedThem(count(keptRows))

export const UnmappedValues = ({run: {unmapped = []}, found}: {run: Run; found: Imported}) => {
  const sayField = useFlowFieldLabels(found, unmapped.length > 0)
  if (unmapped.length === 0) return null
  const fields = unmapped.map(({flowId, field, cells}) => `${sayField(flowId, field)} (${t.cellCount(cells)})`).join(', ')
  return html`<p class="hint">${t.valuesWithoutAnEntryInAValue(fields)}</p>`
}

const sayKeptEdits = ({keptEdits = 0}: Run) => keptEdits > 0 && t.valuesChangedByPeopleKept(keptEdits)

const sayModules = ({modules}: Account, byModule: number[]) =>
  modules.flatMap((name, at) => (byModule[at] ? `${name} ${count(byModule[at])}` : [])).join(', ')

const Bar = ({part, tone}: {part: number; tone: string}) => html`
  <span class="run-bar"><span class=${`bar-part ${tone}`} style=${{width: `${Math.max(part > 0 ? 0.5 : 0, part * 100)}%`}}></span></span>
  <span class="bar-said">${sayShare(part)}</span>
`

/** Adds up the rows of all outcomes, to show that no row is missing. Renders nothing if the total is not known. */
export const EveryRow = ({run}: {run: Run}) => {
  const {lines, told, total, notReached} = accountOf(run)
  if (total === null || lines.length === 0) return null
  const parts = [
    ...lines.map(({key, rows}) => `${count(rows)} ${inSentence(wordsOf(run, key).word)}`),
    ...(notReached ? [t.notReachedCount(count(notReached))] : []),
  ]
  const isExact = told + notReached === total
  return html`
    <p class="every-row">
      ${isExact && html`<span class="tick" aria-hidden="true">✓</span>`} ${parts.join(' + ')} = <strong>${t.rowCount(total)}</strong>${isExact ? `. ${t.everyRowIsAccountedFor}` : ''}
    </p>
  `
}
