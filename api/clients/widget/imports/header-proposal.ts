import {html} from '../html.ts'
import {useDoing} from '../state/load.ts'
import {client, inOrg, may} from '../state/session.ts'
import {t} from '../text/reading.ts'
import {Button} from '../ui/button.ts'
import {Notice, Problem, say} from '../ui/notice.ts'
import type {Source} from './import.ts'

type Props = {importId: string; source: Source; again: () => Promise<void>}

/** If the first row looks like a title, offers to use the later row that the API found as the header row. */
export const HeaderProposal = ({importId, source, again}: Props) => {
  const take = useDoing(async () => {
    await client.patch(inOrg(`/imports/${importId}/sources/${source.id}`), {reader: source.header!.reader})
    await again()
    say(t.changedTheHeaderOf(source.label))
  })
  if (!source.header) return null
  const {title, columns} = source.header
  const actions = may('operator') && html`<${Button} isBusy=${take.isBusy} onClick=${() => take.run()}>${t.useThisRowAsTheHeader}<//>`
  return html`
    <${Notice} kind="warning" title=${t.theFirstRowLooksLikeATitle} actions=${actions}>
      <p>${t.theRowIsUsedAsTheHeader(title, columns.slice(0, 8).join(', '))}${columns.length > 8 ? ' …' : ''}</p>
    <//>
    <${Problem} error=${take.error} title=${t.couldNotChangeTheHeader} />
  `
}
