import {signal} from '@preact/signals'

export type Theme = 'system' | 'light' | 'dark'
const key = 'lading.theme'
const themes: Theme[] = ['system', 'light', 'dark']

const readTheme = (): Theme => themes.find(known => known === localStorage.getItem(key)) ?? 'system'

export const theme = signal<Theme>(readTheme())

/** Applies a theme and stores it in the browser. Without an argument, it applies the stored theme, which is the system's by default. */
export const applyTheme = (wanted: Theme = theme.value): void => {
  theme.value = wanted
  localStorage.setItem(key, wanted)
  document.documentElement.dataset.theme = wanted
}
