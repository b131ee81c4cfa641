import {useEffect, useId, useRef, useState} from 'preact/hooks'
import type {Json} from '../../http.ts'
import {html} from '../html.ts'
import {useLoad} from '../state/load.ts'
import {go, to} from '../state/place.ts'
import {client, inOrg} from '../state/session.ts'
import {t} from '../text/shell.ts'
import {mayLeave} from '../ui/draft.ts'
import {findCommands, type MenuCommand} from './find-commands.ts'
import {pageCommands} from './page-commands.ts'
import {modifierName} from './shortcuts.ts'

const newest = 200

/** Reads the newest 200 imports and 200 templates. A failed load is not reported, because the menu still finds the pages. */
const readObjects = async (signal: AbortSignal): Promise<MenuCommand[]> => {
  const [{imports}, {templates}] = await Promise.all([
    client.get<Json>(inOrg('/imports'), {limit: newest}, signal),
    client.get<Json>(inOrg('/templates'), {limit: newest}, signal),
  ])
  const named =
    (kind: string, path: string) =>
    ({id, name}: Json) => ({id, label: name, kind, href: to(path, id), leaves: true})
  return [...imports.map(named(t.kindImport, 'imports')), ...templates.map(named(t.kindTemplate, 'templates'))]
}

/** The command menu: a text field with the matching pages, actions, imports and templates below it (ARIA combobox). */
export const CommandMenu = ({onClose}: {onClose: () => void}) => {
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState(0)
  const objects = useLoad(readObjects, [])
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => openModally(dialog.current!), [])
  const found = findCommands([...pageCommands(), ...(objects.data ?? [])], text)
  const at = Math.min(chosen, found.length - 1)
  const execute = (command: MenuCommand) => {
    onClose()
    if (!command.leaves || mayLeave()) follow(command)
  }
  const press = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step === 0 && event.key !== 'Enter') return
    event.preventDefault()
    if (step !== 0) setChosen((at + step + found.length) % Math.max(found.length, 1))
    else if (found[at]) execute(found[at])
  }
  const type = (event: Event) => {
    setText((event.target as HTMLInputElement).value)
    setChosen(0)
  }
  return html`
    <dialog
      ref=${dialog}
      class="command-menu"
      aria-label=${t.commandMenu}
      onClick=${(event: Event) => event.target === dialog.current && onClose()}
      onCancel=${(event: Event) => {
        event.preventDefault()
        onClose()
      }}
    >
      <input
        type="text"
        role="combobox"
        aria-label=${t.findHint}
        placeholder=${t.findHint}
        aria-expanded="true"
        aria-autocomplete="list"
        aria-controls=${`${id}-list`}
        aria-activedescendant=${found.length ? `${id}-${at}` : undefined}
        autocomplete="off"
        spellcheck=${false}
        value=${text}
        onInput=${type}
        onKeyDown=${press}
      />
      <${Found} id=${id} found=${found} at=${at} choose=${setChosen} execute=${execute} />
      <p class="hint" role="status">${found.length === 0 ? (objects.data || objects.error ? t.nothingFound : t.loading) : ''}</p>
      <p class="hint">
        <kbd>↑</kbd> <kbd>↓</kbd> ${t.keysChoose} <kbd>Enter</kbd> ${t.keysOpen} <kbd>Esc</kbd> ${t.keysClose} <kbd>${modifierName} S</kbd> ${t.keysSave}
      </p>
    </dialog>
  `
}

const follow = ({href, run}: MenuCommand) => {
  if (href?.startsWith('#')) go(href)
  else if (href) location.assign(href)
  else run?.()
}

type FoundProps = {id: string; found: MenuCommand[]; at: number; choose: (index: number) => void; execute: (command: MenuCommand) => void}

const Found = ({id, found, at, choose, execute}: FoundProps) => html`
  <ul id=${`${id}-list`} role="listbox" aria-label=${t.commands}>
    ${found.map((command, index) => html`<li key=${command.id} id=${`${id}-${index}`} role="option" aria-selected=${index === at ? 'true' : 'false'} onClick=${() => execute(command)} onMouseMove=${() => choose(index)}><span>${command.label}</span><span class="quiet">${command.kind}</span></li>`)}
  </ul>
`

/**
 * Opens the dialog and returns a function that closes it. On closing, the element that had the focus before the dialog gets the focus back, if
 * it is still in the page.
 */
const openModally = (dialog: HTMLDialogElement) => {
  const before = document.activeElement
  dialog.showModal()
  return () => {
    // While a modal dialog is open, elements behind it cannot get the focus, so it is closed first.
    dialog.close()
    if (before instanceof HTMLElement && before.isConnected) before.focus()
  }
}
