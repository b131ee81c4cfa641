import {useRef, useState} from 'preact/hooks'
import {html, type Markup} from '../html.ts'
import {Button} from '../ui/button.ts'

type DropZoneProps = {onFiles: (files: File[]) => void; label: string; children?: Markup; isMany?: boolean}
const taken = '.csv,.tsv,.txt,.xlsx,.ods,.json,.ndjson,.jsonl,text/csv,text/tab-separated-values'

/** Accepts dropped files. A button to choose files serves keyboards and phones. Without `isMany`, only the first file is accepted. */
export const DropZone = ({onFiles, label, children, isMany = true}: DropZoneProps) => {
  const [isOver, setOver] = useState(false)
  const give = (list: FileList | null | undefined) => {
    const files = [...(list ?? [])]
    if (files.length > 0) onFiles(isMany ? files : files.slice(0, 1))
  }
  return html`
    <div
      class=${`drop-zone ${isOver ? 'over' : ''}`}
      onDragOver=${(event: DragEvent) => {
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave=${() => setOver(false)}
      onDrop=${(event: DragEvent) => {
        event.preventDefault()
        setOver(false)
        give(event.dataTransfer?.files)
      }}
    >
      ${children}
      <${ChooseFile} kind="main" label=${label} onFiles=${give} isMany=${isMany} />
    </div>
  `
}

type ChooseProps = {onFiles: (files: FileList | null) => void; label: string; kind?: string; isMany?: boolean}

export const ChooseFile = ({onFiles, label, kind = 'plain', isMany = false}: ChooseProps) => {
  const input = useRef<HTMLInputElement>(null)
  return html`
    <${Button} kind=${kind} onClick=${() => input.current?.click()}>${label}<//>
    <input
      ref=${input}
      type="file"
      class="unseen"
      tabindex="-1"
      aria-hidden="true"
      accept=${taken}
      multiple=${isMany}
      onChange=${(event: Event) => {
        const field = event.target as HTMLInputElement
        onFiles(field.files)
        field.value = ''
      }}
    />
  `
}
