import {useEffect, useRef, useState} from 'preact/hooks'
import {html} from '../html.ts'
import {t} from '../text/decide.ts'
import {Button} from '../ui/button.ts'
import type {EditCell} from './review-row.ts'

type Props = {row: number; column: string; value: string; isEdited: boolean; edit: EditCell | null}

/**
 * A cell that becomes an input on a click. Enter or a loss of focus saves, Escape cancels. The input stays open until the value
 * is saved. A button restores an edited cell. Without `edit`, the cell is plain text.
 */
export const EditableCell = ({row, column, value, isEdited, edit}: Props) => {
  const [draft, setDraft] = useState<string | null>(null)
  const [isSaving, setSaving] = useState(false)
  const input = useRef<HTMLInputElement>(null)
  const button = useRef<HTMLSpanElement>(null)
  const wasOpen = useRef(false)
  /**
   * Set while a draft is saved, and once the input is about to close. A browser may send `blur` when the input is removed, which must not save a
   * cancelled draft.
   */
  const isClosing = useRef(false)
  useEffect(() => {
    if (draft !== null && !wasOpen.current) input.current?.select()
    if (draft === null && wasOpen.current && document.activeElement === document.body) button.current?.querySelector('button')?.focus()
    wasOpen.current = draft !== null
  }, [draft === null])
  if (!edit) return html`<span>${value === '' ? html`<span class="quiet">${t.empty}</span>` : value}</span>`
  const save = async () => {
    if (isClosing.current) return
    isClosing.current = true
    if (draft !== null && draft !== value) {
      setSaving(true)
      isClosing.current = await edit(row, column, draft)
      setSaving(false)
    }
    if (isClosing.current) setDraft(null)
  }
  const close = () => {
    isClosing.current = true
    setDraft(null)
  }
  const open = () => {
    isClosing.current = false
    setDraft(value)
  }
  const onKey = (event: KeyboardEvent) => {
    if (event.key === 'Enter') save()
    if (event.key === 'Escape' && !isSaving) close()
  }
  if (draft !== null)
    return html`<input ref=${input} class="cell-input" type="text" aria-label=${t.ofRow(column, row)} readonly=${isSaving} value=${draft} onInput=${(event: Event) => setDraft((event.target as HTMLInputElement).value)} onKeyDown=${onKey} onBlur=${save} />`
  return html`
    <span ref=${button} class=${`cell-edit ${isEdited ? 'edited' : ''}`}>
      <button type="button" class="cell-button" aria-label=${t.editCell(column, row, value || t.empty)} onClick=${open}>${value === '' ? html`<span class="quiet">${t.empty}</span>` : value.length > 80 ? `${value.slice(0, 80)} …` : value}</button>
      ${isEdited && html`<${Button} kind="quiet" label=${t.undoTheEditOfInRow(column, row)} onClick=${() => edit(row, column, null)}>${t.undo}<//>`}
    </span>
  `
}
