import {signal} from '@preact/signals'
import type {ComponentType} from 'preact'
import {useEffect} from 'preact/hooks'
import {t} from '../text/shell.ts'

/** The component of the command menu while it is open, else null. */
export const openMenu = signal<ComponentType<{onClose: () => void}> | null>(null)

const isApple = /Mac|iPhone|iPad/.test(navigator.userAgent)
export const modifierName = isApple ? '⌘' : t.controlKey

/** Opens the command menu, unless another dialog is open. The menu's code is loaded on first use. */
export const showMenu = async (): Promise<void> => {
  const {CommandMenu} = await import('./menu.ts')
  if (!document.querySelector('dialog[open]')) openMenu.value = CommandMenu
}

export const closeMenu = (): void => {
  openMenu.value = null
}

/** Handles the shortcuts of every page. Ctrl-K or Cmd-K opens or closes the command menu. Ctrl-S or Cmd-S saves a form. */
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

/**
 * Clicks the first enabled save button in the open dialog. Without a dialog, it searches the form with the focus. Without that form, it searches
 * the page. A form without changes has a disabled button.
 */
const saveForm = () => {
  const own = document.activeElement?.closest('form')
  const scope: ParentNode = document.querySelector('dialog[open]') ?? own ?? document.querySelector('main')!
  scope.querySelector<HTMLButtonElement>('button.main[type="submit"]:not(:disabled)')?.click()
}
