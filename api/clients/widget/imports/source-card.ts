import {useState} from 'preact/hooks'
import {html} from '../html.ts'
import {useDoing} from '../state/load.ts'
import {goIfHere, to} from '../state/place.ts'
import {client, inOrg, may} from '../state/session.ts'
import {t} from '../text/reading.ts'
import {Button} from '../ui/button.ts'
import {Confirm} from '../ui/dialog.ts'
import {bytes} from '../ui/format.ts'
import {Problem, say} from '../ui/notice.ts'
import {Pill} from '../ui/pill.ts'
import {EncodingQuestion} from './encoding-question.ts'
import {HeaderProposal} from './header-proposal.ts'
import type {Imported, Source} from './import.ts'
import {ReaderForm} from './reader-form.ts'
import {sayReader, sayReasons, sheetsOf} from './reading.ts'
import {RowsPreview} from './rows-preview.ts'

type Props = {found: Imported; source: Source; again: () => Promise<void>}

/** One file of an import: its size, reader options, rows and actions. */
export const SourceCard = ({found, source, again}: Props) => {
  const [isRemoving, setRemoving] = useState(false)
  return html`
    <section class="sheet source" aria-label=${source.label}>
      <div class="row">
        <h2 class="grow">${source.label}</h2>
        ${may('operator') && html`<${Button} onClick=${() => setRemoving(true)} label=${t.removeFile(source.label)}>${t.remove}<//>`}
      </div>
      <p>${t.rowCount(source.rows)}, ${t.columnCount(source.columns.length)}, ${bytes(source.bytes)}. <span class="quiet">${sayReader(source.reader)}.</span></p>
      ${may('operator') && html`<${OtherSheets} found=${found} source=${source} again=${again} />`}
      ${source.ragged.count > 0 && html`<p><${Pill} tone="bad">${t.unevenRowCount(source.ragged.count)}<//> <span class="quiet">${t.withMoreOrFewerCellsThanThe(source.ragged.firstRow)}</span></p>`}
      <${EncodingQuestion} importId=${found.id} source=${source} again=${again} />
      <${HeaderProposal} importId=${found.id} source=${source} again=${again} />
      ${source.problems.filter(({kind}) => kind === 'sheet').map(({message}) => html`<p class="wrong">${t.youCanAddTheOtherSheetsAbove(message)}</p>`)}
      <${RowsPreview} importId=${found.id} source=${source} again=${may('operator') && found.state !== 'running' ? again : null} />
      <details>
        <summary>${t.fileOptions}</summary>
        <div class="opened">
          <ul>${sayReasons(source.sniffed).map(reason => html`<li>${reason}</li>`)}</ul>
          ${may('operator') && html`<${ReaderForm} key=${JSON.stringify(source.reader)} importId=${found.id} source=${source} onRead=${again} />`}
        </div>
      </details>
      ${isRemoving && html`<${RemoveSource} found=${found} source=${source} again=${again} onClose=${() => setRemoving(false)} />`}
    </section>
  `
}

const OtherSheets = ({found, source, again}: Props) => {
  const add = useDoing(async (sheet: string) => {
    const goOn = goIfHere()
    const {source: added} = await client.post(inOrg(`/imports/${found.id}/sources`), {
      fromSource: source.id,
      sheet,
      label: `${source.name}: ${sheet}`.slice(0, 255),
    })
    await again()
    say(t.addedSheet(sheet))
    goOn(to('imports', found.id, 'match', {source: added.id}))
  })
  const here = found.sources.flatMap(({sha256, reader}) => (sha256 === source.sha256 && reader.format === 'xlsx' ? [reader.sheet] : []))
  const others = sheetsOf(source.sniffed).filter(({name}) => !here.includes(name))
  const isFirst = found.sources.find(({sha256}) => sha256 === source.sha256)?.id === source.id
  if (others.length === 0 || !isFirst) return null
  return html`
    <div class="row other-sheets">
      <span class="quiet">${t.otherSheetsOfTheWorkbook}</span>
      ${others.map(({name, state, rows}) => html`<${Button} isBusy=${add.isBusy} onClick=${() => add.run(name)}>${t.add(name)}${state === 'visible' ? '' : ` (${t.hiddenSheet})`}${rows !== undefined && html` <span class="quiet">${t.rowCount(rows)}</span>`}<//>`)}
    </div>
    <${Problem} error=${add.error} />
  `
}

const RemoveSource = ({found, source, again, onClose}: Props & {onClose: () => void}) => {
  const remove = async () => {
    await client.delete(inOrg(`/imports/${found.id}/sources/${source.id}`))
    await again()
    say(t.removed(source.label))
  }
  const used = found.flows.some(({sourceId}) => sourceId === source.id)
  return html`
    <${Confirm} title=${t.removeQuestion(source.label)} action=${t.remove} isDangerous=${true} work=${remove} onClose=${onClose}>
      <p>${used ? t.itsMappingsStayChooseAnotherFile : t.itHasNoMappingsYet} ${t.resultsOfEarlierRunsStay}</p>
    <//>
  `
}
