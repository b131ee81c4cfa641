import {spawn} from 'node:child_process'
import type {Settings} from './settings.ts'

/** Opens a URL in the browser. Failures are ignored, because the URL is printed too. */
export const openBrowser = ({browser}: Settings, url: string) => {
  const [program, ...args] = browser ? [browser, url] : commandOf(process.platform, url)
  const child = spawn(program!, args, {stdio: 'ignore', detached: true})
  child.on('error', () => {})
  child.unref()
}

const commandOf = (platform: string, url: string): string[] => {
  if (platform === 'darwin') return ['open', url]
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler', url]
  return ['xdg-open', url]
}
