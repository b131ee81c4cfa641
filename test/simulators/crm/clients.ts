export type ClientSpec = {
  clientId: string
  clientSecret: string
  redirectUris: string[] | 'any-loopback'
  secrets?: Record<string, string>
}
export type Client = ClientSpec

export const defaultClient: ClientSpec = {clientId: '1000.LADING', clientSecret: 'stand-in-secret', redirectUris: 'any-loopback'}

export const secretOf = (client: Client, dc: string) => client.secrets?.[dc] ?? client.clientSecret

export const takesRedirect = (client: Client, uri: string): boolean => {
  if (client.redirectUris !== 'any-loopback') return client.redirectUris.includes(uri)
  const url = URL.parse(uri)
  return url !== null && /^https?:$/.test(url.protocol) && ['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname)
}
