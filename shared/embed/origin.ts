import {z} from 'zod'

/** The hosts of the local machine, on which a page may be served without TLS. */
const ownMachine = ['localhost', '127.0.0.1', '[::1]']

const isOrigin = (text: string): boolean => {
  const url = URL.canParse(text) ? new URL(text) : null
  if (!url || url.origin !== text) return false
  // A wildcard or a separator would have another meaning in a Content-Security-Policy.
  if (!/^[a-z0-9.-]+$|^\[[0-9a-f:]+\]$/.test(url.hostname)) return false
  return url.protocol === 'https:' || (url.protocol === 'http:' && ownMachine.includes(url.hostname))
}

/** The origin of a page that embeds imports, in the form of the browser's `Origin` header. */
export const EmbedOrigin = z
  .string()
  .max(300)
  .refine(
    isOrigin,
    'Write the origin as https://app.example.com, with the port if it is not 443, and without a path. http works on localhost only',
  )
