import {html} from '../html.ts'
import {useDoing, useLoad} from '../state/load.ts'
import {client, inOrg} from '../state/session.ts'
import {t} from '../text/reading.ts'
import {Button} from '../ui/button.ts'
import {Problem, say} from '../ui/notice.ts'
import {Shown} from '../ui/page.ts'
import {Pill} from '../ui/pill.ts'
import type {Reader, Source} from './import.ts'

type TopRow = {cells: string[]; header: boolean; reader: Partial<Reader>}
type Props = {importId: string; source: Source; again: () => Promise<void>; onClose: () => void}

const mostColumns = 30

/** Shows the first rows of a file. A click on a row makes that row the header, and the server reads the file again. */
export const HeaderChoice = ({importId, source, again, onClose}: Props) => {
  const path = inOrg(`/imports/${importId}/sources/${source.id}`)
  const loaded = useLoad<{rows: TopRow[]}>(signal => client.get(`${path}/top`, {}, signal), [path])
  const choose = useDoing(async ({reader}: TopRow) => {
    await client.patch(path, {reader})
    await again()
    say(t.changedTheHeaderOf(source.label))
    onClose()
  })
  return html`
    <p>${t.clickTheRowThatHasTheColumn}</p>
    <${Problem} error=${choose.error} title=${t.couldNotChangeTheHeader} />
    <${Shown} of=${loaded}>
      ${({rows}: {rows: TopRow[]}) => html`
        <div class="table-frame" tabindex="0" role="region" aria-label=${t.firstRowsOf(source.label)} aria-busy=${choose.isBusy ? 'true' : undefined}>
          <table class="wide header-choice">
            <caption class="unseen">${t.firstRowsOf(source.label)}</caption>
            <tbody>
              ${rows.map(
                (row, at) => html`
                <tr key=${at} class=${row.header ? 'is-header' : ''} onClick=${() => (row.header ? onClose() : choose.run(row))}>
                  <th scope="row">${row.header ? html`<${Pill} tone="good">${t.header}<//>` : html`<${Button} kind="quiet" disabled=${choose.isBusy} label=${t.useAsHeaderNamed(row.cells.filter(Boolean).slice(0, 3).join(', '))}>${t.useAsHeader}<//>`}</th>
                  ${row.cells.slice(0, mostColumns).map(cell => html`<td>${cell}</td>`)}
                </tr>
              `,
              )}
            </tbody>
          </table>
        </div>
      `}
    <//>
    <p class="row"><${Button} onClick=${onClose}>${t.cancel}<//></p>
  `
}
