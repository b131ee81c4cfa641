/**
 * Returns the id of the connection of a new import. A template's connection takes precedence over the person's choice, because the API accepts no
 * other. `connections`: the connected ones, at least one. Returns null if the template's connection is not connected.
 */
export const connectionFor = (
  connections: readonly {id: string}[],
  template: {connectorId: string | null} | undefined,
  chosen: string,
): string | null => {
  const find = (wanted: string) => connections.find(({id}) => id === wanted)?.id
  return template?.connectorId ? (find(template.connectorId) ?? null) : (find(chosen) ?? connections[0]!.id)
}
