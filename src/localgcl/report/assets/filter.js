// Which nodes are shown: those whose value passes the filter of every column that has one.

class Filters {
  constructor(n) {
    Object.assign(this, { visible: new Uint8Array(n).fill(1), count: n, byColumn: new Map() });
  }

  // One byte for each place of the column: 1 shows its nodes.
  allowed(column) {
    return this.byColumn.get(column) ?? new Uint8Array(column.count + 1).fill(1);
  }

  set(column, allowed) {
    if (allowed.every((value, place) => value || column.sizes[place] === 0)) this.byColumn.delete(column);
    else this.byColumn.set(column, allowed);
    this.visible.fill(1);
    for (const [{ places }, passing] of this.byColumn) {
      for (let i = 0; i < places.length; i++) this.visible[i] &= passing[places[i]];
    }
    this.count = this.visible.reduce((sum, value) => sum + value, 0);
  }

  only(column, place) {
    const allowed = new Uint8Array(column.count + 1);
    allowed[place] = 1;
    this.set(column, allowed);
  }

  clear() {
    this.byColumn.clear();
    this.visible.fill(1);
    this.count = this.visible.length;
  }
}
