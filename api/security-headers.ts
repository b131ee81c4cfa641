import type {Config} from '../shared/config.ts'

/** Returns a function that gives the security headers of a response by the path of the request. A route can override them. */
export const securityHeaders = ({PUBLIC_URL, HSTS_SECONDS}: Pick<Config, 'PUBLIC_URL' | 'HSTS_SECONDS'>) => {
  const isSecure = new URL(PUBLIC_URL).protocol === 'https:' && HSTS_SECONDS > 0
  const common = {
    // Responses may contain customer data. Routes without customer data override this header.
    'cache-control': 'private, no-store',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'permissions-policy': 'camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()',
    'cross-origin-resource-policy': 'same-origin',
    ...(isSecure && {'strict-transport-security': `max-age=${HSTS_SECONDS}`}),
  }
  return (path: string): Record<string, string> => ({
    ...common,
    // `X-Frame-Options` cannot name an origin. The policy of the embedded page names the allowed origins, or `'none'`.
    ...(path !== '/embed' && {'x-frame-options': 'DENY'}),
    'cross-origin-opener-policy': openerPolicyOf(path),
  })
}

/**
 * Returns the opener policy of a path. The sign-in window posts its result to the window that opened it, which may have another origin. So the policy
 * must not separate the two windows.
 */
const openerPolicyOf = (path: string) => (path.startsWith('/auth/zoho/') ? 'unsafe-none' : 'same-origin-allow-popups')
