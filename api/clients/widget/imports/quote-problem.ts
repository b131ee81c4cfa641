import {html} from '../html.ts'
import {useDoing} from '../state/load.ts'
import {client, inOrg, may} from '../state/session.ts'
import {t} from '../text/reading.ts'
import {Button} from '../ui/button.ts'
import {Notice, Problem, say} from '../ui/notice.ts'
import type {Source} from './import.ts'

type Props = {importId: string; source: Source; again: () => Promise<void>}

/** If cells may contain rows because a quote seems not to be closed, offers to accept these cells. Until then, the rows of these cells fail. */
export const QuoteProblem = ({importId, source, again}: Props) => {
  const accept = useDoing(async () => {
    await client.patch(inOrg(`/imports/${importId}/sources/${source.id}`), {reader: {openQuotes: 'keep'}})
    await again()
    say(t.updated(source.label))
  })
  const rows = source.problems.some(({kind}) => kind === 'quote') && source.openQuotes
  if (!rows) return null
  const actions = may('operator') && html`<${Button} isBusy=${accept.isBusy} onClick=${() => accept.run()}>${t.importTheCellsAsTheyAre}<//>`
  return html`
    <${Notice} kind="warning" title=${t.aQuoteIsNotClosed} actions=${actions}>
      <p>${t.rowsMayContainOtherRows(rows.count, rows.firstRow)}</p>
    <//>
    <${Problem} error=${accept.error} title=${t.couldNotChangeTheOptions} />
  `
}
