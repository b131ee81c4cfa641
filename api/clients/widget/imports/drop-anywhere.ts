import {useEffect, useRef, useState} from 'preact/hooks'
import type {Connection} from '../connections/list.ts'
import {html} from '../html.ts'
import {useDoing} from '../state/load.ts'
import {goIfHere, to} from '../state/place.ts'
import {client, inOrg} from '../state/session.ts'
import {t} from '../text/files.ts'
import {Button} from '../ui/button.ts'
import {Dialog} from '../ui/dialog.ts'
import {Select} from '../ui/field.ts'
import {Problem, say} from '../ui/notice.ts'
import {ChooseFile} from './drop-zone.ts'
import {nameImport} from './import-name.ts'
import {reloadImport} from './known.ts'
import {addFile} from './send-queue.ts'

/**
 * Creates an import from files that are dropped anywhere on the page or chosen. If there are several connections, the person chooses one.
 * `connections` is undefined while loading; dropped files then wait.
 */
export const DropAnywhere = ({connections}: {connections: readonly Connection[] | undefined}) => {
  const [dropped, setDropped] = useState<File[] | null>(null)
  const waiting = useRef<{files: File[]; connectorId: string}[]>([])
  const create = useDoing(async () => {
    const goOn = goIfHere()
    // Files that are dropped while an import is created become the next import.
    for (let next = waiting.current.shift(); next; next = waiting.current.shift()) {
      const {files, connectorId} = next
      const {import: made} = await client.post(inOrg('/imports'), {connectorId, name: nameImport(files)})
      for (const file of files) addFile({importId: made.id, file}, () => reloadImport(made.id))
      say(t.created(made.name))
      goOn(to('imports', made.id, 'match'))
    }
  })
  const add = (files: File[], connectorId: string) => {
    waiting.current.push({files, connectorId})
    void create.run()
  }
  const connected = connections?.filter(({state}) => state === 'connected')
  const only = connected?.length === 1 ? connected[0]!.id : null
  useEffect(() => {
    if (dropped === null || only === null) return
    setDropped(null)
    add(dropped, only)
  }, [dropped, only])
  const isOver = useDroppedFiles(setDropped)
  const progress = create.isBusy ? t.creatingTheImport : dropped && !connected ? t.loadingYourConnections : null
  return html`
    ${connected && connected.length > 0 && html`<${Zone} isOver=${isOver} onFiles=${setDropped} />`}
    ${(isOver || progress) && html`<p class="drop-anywhere" role="status">${progress ?? t.dropToCreateAnImport}</p>`}
    <${Problem} error=${create.error} title=${t.couldNotCreateTheImport} />
    ${dropped && connected && only === null && html`<${ChooseConnection} connections=${connected} files=${dropped} onChoose=${add} onClose=${() => setDropped(null)} />`}
  `
}

const Zone = ({isOver, onFiles}: {isOver: boolean; onFiles: (files: File[]) => void}) => {
  const sample = useDoing(async () => onFiles([(await import('./sample-file.ts')).makeSampleFile()]))
  return html`
    <div class=${`drop-zone above-list ${isOver ? 'over' : ''}`}>
      <p>${t.dropASpreadsheetAnywhereOnThisPage}</p>
      <div class="row">
        <${ChooseFile} kind="main" label=${t.chooseFile} isMany onFiles=${(list: FileList | null) => list?.length && onFiles([...list])} />
        <${Button} isBusy=${sample.isBusy} onClick=${() => sample.run()}>${t.trySampleData}<//>
      </div>
      <${Problem} error=${sample.error} title=${t.couldNotLoadTheSampleData} />
    </div>
  `
}

/** Calls `onFiles` with dropped files. Returns whether files are being dragged over the page. */
const useDroppedFiles = (onFiles: (files: File[]) => void): boolean => {
  const [isOver, setOver] = useState(false)
  const newest = useRef(onFiles)
  newest.current = onFiles
  useEffect(() => {
    const gone = new AbortController()
    const {signal} = gone
    const holdsFiles = ({dataTransfer}: DragEvent) => dataTransfer?.types.includes('Files') ?? false
    addEventListener('dragover', event => setOver(holdsFiles(event)), {signal})
    // Only a drag that leaves the window has no related target.
    addEventListener('dragleave', ({relatedTarget}) => relatedTarget === null && setOver(false), {signal})
    addEventListener(
      'drop',
      ({dataTransfer}) => {
        setOver(false)
        const files = [...(dataTransfer?.files ?? [])]
        if (files.length > 0) newest.current(files)
      },
      {signal},
    )
    return () => gone.abort()
  }, [])
  return isOver
}

type ChooseProps = {
  connections: readonly Connection[]
  files: File[]
  onChoose: (files: File[], connectorId: string) => void
  onClose: () => void
}

const ChooseConnection = ({connections, files, onChoose, onClose}: ChooseProps) => {
  const [chosen, setChosen] = useState(connections[0]?.id ?? '')
  if (connections.length === 0)
    return html`<${Dialog} title=${t.connectYourCrmFirst} onClose=${onClose}><p>${t.anImportNeedsAConnection} <a href=${to('imports', 'new')}>${t.connectYourCrm}</a>${t.thenDropTheFileAgain}</p><//>`
  const choose = () => {
    onClose()
    onChoose(files, chosen)
  }
  const actions = html`<${Button} onClick=${onClose}>${t.cancel}<//><${Button} kind="main" onClick=${choose}>${t.createImport}<//>`
  return html`
    <${Dialog} title=${t.importFiles(nameImport(files))} onClose=${onClose} actions=${actions}>
      <${Select} label=${t.connection} hint=${t.theCrmToWriteTo} value=${chosen} options=${connections.map(({id, name, crmUserName}) => ({value: id, label: t.nameWithUser(name, crmUserName)}))} onChange=${setChosen} />
    <//>
  `
}
