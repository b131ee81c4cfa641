import {useRef} from 'preact/hooks'
import type {Upload} from '../../send-file.ts'
import {html} from '../html.ts'
import {useDoing, useLoad} from '../state/load.ts'
import {client, inOrg} from '../state/session.ts'
import {t} from '../text/files.ts'
import {Button} from '../ui/button.ts'
import {at, bytes, percent} from '../ui/format.ts'
import {Problem, say} from '../ui/notice.ts'
import {Progress} from '../ui/progress.ts'
import {ChooseFile} from './drop-zone.ts'
import type {Reader} from './import.ts'
import {mayRetry, RefusedFile} from './refused-file.ts'
import {isSameFile, smallBytes} from './send.ts'
import {addFile, cancelSending, deleteUpload, pauseSending, type QueuedFile, resumeSending, sendAs, sendings} from './send-queue.ts'

type Props = {importId: string; onTaken: (answer: {source: {name: string}}) => void}

/** Lists the uploads of this import in this tab, and its other unfinished uploads on the server. */
export const Sendings = ({importId, onTaken}: Props) => {
  const mine = sendings.value.filter(one => one.importId === importId)
  return html`
    ${mine.map(one => html`<${OneSending} key=${one.key} one=${one} onTaken=${onTaken} />`)}
    <${Unfinished} importId=${importId} onTaken=${onTaken} mine=${mine} />
  `
}

const OneSending = ({one, onTaken}: {one: QueuedFile; onTaken: Props['onTaken']}) => {
  const {key, file, sent, state, error} = one
  const resume = useDoing(() => resumeSending(one))
  const cancel = useDoing(() => cancelSending(one))
  const canPause = file.size > smallBytes
  const replace = (files: FileList | null) => {
    const other = files?.[0]
    if (!other) return
    cancel.run()
    addFile({importId: one.importId, file: other, slot: one.slot}, answer => onTaken(answer as never))
  }
  return html`
    <section class="sheet sending" aria-label=${t.uploading(file.name)}>
      <div class="row">
        <strong class="grow">${file.name}</strong>
        ${state === 'sending' && canPause && html`<${Button} onClick=${() => pauseSending(key)} label=${t.pauseNamed(file.name)}>${t.pause}<//>`}
        ${(state === 'paused' || (state === 'failed' && mayRetry(error))) && html`<${Button} kind="main" isBusy=${resume.isBusy} onClick=${() => resume.run()} label=${`${state === 'failed' ? t.tryAgain : t.resume}: ${file.name}`}>${state === 'failed' ? t.tryAgain : t.resume}<//>`}
        ${state === 'failed' && html`<${ChooseFile} label=${t.chooseAnotherFile} onFiles=${replace} />`}
        ${state !== 'reading' && html`<${Button} onClick=${() => cancel.run()} label=${t.cancelNamed(file.name)}>${t.cancel}<//>`}
      </div>
      ${(state !== 'failed' || mayRetry(error)) && html`<${Progress} label=${t.uploadedNamed(file.name)} done=${sent} total=${state === 'reading' ? null : file.size} text=${sayState(one)} />`}
      <${Problem} error=${resume.error ?? cancel.error} title=${t.couldNotImport(file.name)} />
      ${state === 'failed' && html`<${RefusedFile} name=${file.name} error=${error} read=${(reader: Partial<Reader>) => sendAs(one, reader)} />`}
    </section>
  `
}

const sayState = ({state, sent, file}: QueuedFile) => {
  const far = t.sentOf(bytes(sent), bytes(file.size), percent(file.size ? sent / file.size : 1))
  if (state === 'waiting') return t.waitingForOtherUploads
  if (state === 'reading') return t.uploadedTheServerIsReadingTheFile
  return state === 'sending' ? far : state === 'paused' ? t.pausedAt(far) : t.stoppedAt(far)
}

/**
 * Lists the unfinished uploads on the server that this tab is not sending, for example after a reload. The person chooses each file again, because
 * the browser no longer has it. Stored parts are not uploaded again.
 */
const Unfinished = ({importId, onTaken, mine}: Props & {mine: QueuedFile[]}) => {
  const {data, again} = useLoad<Upload[]>(
    async signal => (await client.get(inOrg(`/imports/${importId}/uploads`), {}, signal)).uploads,
    [importId],
  )
  // If an upload left the queue of this tab, it was finished or cancelled. `data` may still list it.
  const known = useRef(new Set<string>()).current
  for (const {upload} of mine) if (upload) known.add(upload.id)
  const goOn = (upload: Upload) => (files: FileList | null) => {
    const file = files?.[0]
    if (!file) return
    if (!isSameFile(upload, file)) return say(t.thisIsADifferentFileChoose(upload.name, bytes(upload.size)))
    addFile({importId, file, slot: upload.slot ?? undefined, upload}, answer => onTaken(answer as never))
  }
  const left = (data ?? []).filter(({id}) => !known.has(id))
  return left.map(
    upload => html`<${OneUnfinished} key=${upload.id} importId=${importId} upload=${upload} goOn=${goOn(upload)} again=${again} />`,
  )
}

type OneProps = {importId: string; upload: Upload; goOn: (files: FileList | null) => void; again: () => void}

const OneUnfinished = ({importId, upload, goOn, again}: OneProps) => {
  const remove = useDoing(async () => {
    await deleteUpload(importId, upload.id)
    again()
  })
  return html`
    <section class="sheet sending" aria-label=${t.unfinished(upload.name)}>
      <div class="row">
        <strong class="grow">${upload.name}</strong>
        <${ChooseFile} kind="main" label=${t.chooseTheSameFileToResume} onFiles=${goOn} />
        <${Button} isBusy=${remove.isBusy} onClick=${() => remove.run()} label=${t.discardNamed(upload.name)}>${t.discard}<//>
      </div>
      <${Progress} label=${t.uploadedNamed(upload.name)} done=${upload.offset} total=${upload.size} text=${t.stoppedAtOfKeptUntil(bytes(upload.offset), bytes(upload.size), at(upload.expiresAt))} />
      <${Problem} error=${remove.error} />
    </section>
  `
}
