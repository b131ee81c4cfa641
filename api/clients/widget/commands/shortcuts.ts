import {signal} from '@preact/signals'
import type {ComponentType} from 'preact'
import {useEffect} from 'preact/hooks'
import {t} from '../text/shell.ts'

/** The component of the open command menu. Null while it is closed. */
export const openMenu = signal<ComponentType<{onClose: () => void}> | null>(null)

const isApple = /Mac|iPhone|iPad/.test(navigator.userAgent)
export const modifierName = isApple ? '⌘' : t.controlKey

/** Opens the command menu. Its code is loaded on first use. */
export const showMenu = async (): Promise<void> => {
  const {CommandMenu} = await import('./menu.ts')
  if (!document.querySelector('dialog[open]')) openMenu.value = CommandMenu
}

export const closeMenu = (): void => {
  openMenu.value = null
}

/** Listens to the shortcuts of every page: one opens the command menu, another saves the page's form. All need a modifier, so they never type a character. */
export const useShortcuts = (): void => {
  useEffect(() => {
    const gone = new AbortController()
    addEventListener('keydown', press, {signal: gone.signal})
    return () => gone.abort()
  }, [])
}

const press = (event: KeyboardEvent) => {
  const isModified = (isApple ? event.metaKey : event.ctrlKey) && !event.altKey && !event.shiftKey
  if (!isModified || !['k', 's'].includes(event.key.toLowerCase())) return
  event.preventDefault()
  if (event.key.toLowerCase() === 's') return saveForm()
  if (openMenu.value) closeMenu()
  else void showMenu()
}

/** Submits the form that holds the focus, or else the first form of the page with a save button. A disabled button means that nothing changed. */
const saveForm = () => {
  const own = document.activeElement?.closest('form')
  const scope: ParentNode = document.querySelector('dialog[open]') ?? own ?? document.querySelector('main')!
  scope.querySelector<HTMLButtonElement>('button.main[type="submit"]:not(:disabled)')?.click()
}
