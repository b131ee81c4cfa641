import {useState} from 'preact/hooks'
import {html} from '../html.ts'
import {useDoing} from '../state/load.ts'
import {client, inOrg, may} from '../state/session.ts'
import {sayRowReason} from '../text/errors.ts'
import {t} from '../text/reading.ts'
import {Button} from '../ui/button.ts'
import {Problem, say} from '../ui/notice.ts'
import type {Source, SourceProblem} from './import.ts'
import {nameOfEncoding} from './reading.ts'

type Props = {importId: string; source: Source; again: () => Promise<void>}

const isOfText = ({kind}: SourceProblem) => kind === 'encoding' || kind === 'undecodable'

const mostShown = 6

/**
 * Asks for the encoding if it could not be detected. For bytes that cannot be decoded, asks whether to accept them. Renders nothing without
 * these problems.
 */
export const EncodingQuestion = ({importId, source, again}: Props) => {
  const [isAll, setAll] = useState(false)
  const decide = useDoing(async (reader: {encoding: string} | {badBytes: 'replace'}) => {
    await client.patch(inOrg(`/imports/${importId}/sources/${source.id}`), {reader})
    await again()
    say('encoding' in reader ? t.readingAs(source.label, nameOfEncoding(reader.encoding)) : t.unreadableCharactersInWillBe(source.label))
  })
  const open = source.problems.filter(isOfText)
  if (open.length === 0) return null
  const isQuestion = open.some(({kind}) => kind === 'encoding')
  const current = source.reader.format === 'csv' ? source.reader.encoding : ''
  const candidates = (source.text?.candidates ?? []).filter(({encoding}) => isQuestion || encoding !== current)
  return html`
    <section class="sheet questions" aria-label=${t.encodingOf(source.label)}>
      <h3>${isQuestion ? t.chooseTheTextEncoding : t.someCharactersCannotBeRead}</h3>
      ${open.map(({kind, message}) => html`<p>${sayRowReason(kind.toUpperCase(), null) ?? message}.</p>`)}
      ${
        may('operator')
          ? html`
        ${candidates.length > 0 && html`<p>${isQuestion ? t.chooseTheEncodingInWhichTheText : t.ifTheFileWasSavedInAnother}</p>`}
        <div class="answers" role="group" aria-label=${t.encodings}>
          ${candidates.slice(0, isAll ? candidates.length : mostShown).map(
            ({encoding, samples}) => html`
              <${Button} key=${encoding} class="answer" isBusy=${decide.isBusy} onClick=${() => decide.run({encoding})}>
                <strong>${nameOfEncoding(encoding)}</strong><br /><span class="quiet">${samples.slice(0, 3).join(' · ')}</span>
              <//>
            `,
          )}
        </div>
        ${candidates.length > mostShown && !isAll && html`<p class="more-answers"><${Button} onClick=${() => setAll(true)}>${t.showMoreEncodings(candidates.length - mostShown)}<//></p>`}
        ${!isQuestion && html`<p class="more-answers"><${Button} isBusy=${decide.isBusy} onClick=${() => decide.run({badBytes: 'replace'})}>${t.importThemAs}<//></p>`}
      `
          : html`<p class="quiet">${t.youNeedPermissionToEditImportsTo}</p>`
      }
      <${Problem} error=${decide.error} title=${t.couldNotChangeTheEncoding} />
    </section>
  `
}
